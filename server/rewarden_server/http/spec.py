"""`GET /openapi.json`: what this server answers, for tools. Made once, from the types and the list of routes here."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.routing.forms import FORMS
from rewarden.wire.json import dumps
from rewarden_server.http.replies import JSON
from rewarden_server.http.schemas import schemas
from rewarden_server.http.stream import NDJSON
from rewarden_server.pages import asset
from rewarden_server.service import Service

_HTML = "text/html"
_ERRORS = {
    400: "The request is malformed; `details.path` is the field at fault where there is one.",
    401: "The API key is missing or unknown.",
    403: "The key has not the scope, or the request came by a name or from a page that is not served.",
    404: "There is no such thing.",
    408: "The body stopped coming.",
    409: "A verifier does not have the fingerprint or version that the request demands.",
    413: "The request is over a limit; `details.limit` names it.",
    415: "The body is of a form that is not read here.",
    429: "Too much is under way, or over the key's rates; come back after `Retry-After` seconds.",
    431: "The headers are too many or too long.",
    500: "A defect of the server.",
    503: "The server starts or drains, nothing can run in its sandbox, or its audit log cannot be written.",
}
_OF_EVERY = (400, 431, 500)
"""A header that comes twice, headers over their bounds, a defect."""

_OF_GUARDED = (400, 401, 403, 429, 431, 500, 503)
"""The statuses that the edge answers before a route that asks for a key."""

_OF_BODIES = (408, 413, 415)


def routes(service: Service) -> list[Route]:
    """The route of the specification."""

    async def openapi(request: Request) -> Response:
        return Response(_document(bool(service.keys.names)), media_type=JSON)

    return [Route("/openapi.json", openapi, methods=["GET"])]


@lru_cache(maxsize=2)
def _document(keyed: bool) -> bytes:
    return dumps(document(keyed))


def document(keyed: bool) -> dict[str, Any]:
    """The OpenAPI 3.1 document; `keyed` when the server asks for an API key."""
    components: dict[str, Any] = {"schemas": schemas()}
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Rewarden",
            "version": version("rewarden-server"),
            "summary": "A verifier and sandboxed reward server: samples in, verdicts out.",
            "description": "Other servers' protocols are answered at `/compat/<peer>/…`; docs/trainers describes them.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": _paths(),
        "components": components,
    }
    if keyed:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"key": []}]
    return made


def _paths() -> dict[str, Any]:
    return {
        "/v1/verify": {
            "post": _operation(
                "verify",
                "Judge a batch: all samples at once, all verdicts at once.",
                _json("The verdicts.", {"$ref": "#/components/schemas/BatchResult"}),
                (404, 409),
                body={JSON: {"schema": {"$ref": "#/components/schemas/Batch"}}},
            )
        },
        "/v1/verify/stream": {
            "post": _operation(
                "verify_stream",
                'Judge samples as they come. A line `{"batch": Header}`, then a Sample a line; lines `VerdictLine` and '
                '`GroupLine` come back as they end, at last `{"done": {"verdicts": n}}` or an `Error`.',
                {"description": "The lines.", "content": {NDJSON: {"schema": {"type": "string"}}}},
                (404, 409),
                body={NDJSON: {"schema": {"type": "string"}}},
            )
        },
        "/v1/run": {
            "post": _operation(
                "run",
                "Run a program in the sandbox. Nothing is kept, and equal programs run each.",
                _json("How it ended.", {"$ref": "#/components/schemas/RunResult"}),
                body={JSON: {"schema": {"$ref": "#/components/schemas/Run"}}},
            )
        },
        "/v1/blobs/{sha256}": {
            "put": _operation(
                "put_blob",
                "Keep content that later requests name by its SHA-256. 201: it is new; 200: it was here.",
                _json("It is here.", _BLOB),
                body={"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
                parameters=[_path("sha256", {"type": "string", "pattern": "^[0-9a-f]{64}$"})],
                extra={"201": _json("It is here now.", _BLOB)},
            )
        },
        **_jobs(),
        **_catalogue("verifier"),
        **_catalogue("recipe"),
        **_models(),
        "/v1/info": {"get": _operation("info", "Versions, places where work runs, limits.", _json("It.", _ANY))},
        "/healthz": {"get": _operation("healthz", "Whether the process lives.", _json("Yes.", _ANY), free=True)},
        "/readyz": {"get": _operation("readyz", "Whether work is admitted.", _json("Yes.", _ANY), (503,), free=True)},
        "/metrics": {"get": _operation("metrics", "Metrics for Prometheus.", _text("text/plain"))},
        **_pages(),
        "/openapi.json": {"get": _operation("openapi", "This document.", _json("It.", _ANY), free=True)},
    }


def _pages() -> dict[str, Any]:
    """The responses of pages for people: in HTML, also for a page that does not exist."""

    def one(name: str, summary: str, *parameters: dict[str, Any]) -> Any:
        answer = _text(_HTML)
        lost = {"404": {**answer, "description": _ERRORS[404]}} if parameters else None
        return {"get": _operation(name, summary, answer, parameters=list(parameters), extra=lost, free=True)}

    name = _path("name", {"type": "string", "minLength": 1})
    static = _operation(
        "static",
        "Style sheet, scripts and icon of the pages.",
        {"description": "It.", "content": {kind: {"schema": {"type": "string"}} for kind in asset.TYPES.values()}},
        (404,),
        parameters=[_path("digest", {"type": "string", "minLength": 1}), name],
        free=True,
    )
    return {
        "/": one("index", "What is where."),
        "/docs": one("docs", "All verifiers and recipes, a line on each."),
        "/docs/{name}": one("docs_of", "One verifier's or recipe's page.", name),
        "/playground": one("playground", "Choose what is to judge by hand."),
        "/playground/{name}": one("playground_of", "Judge a response by hand.", name),
        "/health": one("health", "How the server is; asks /v1/info for it."),
        "/static/{digest}/{name}": {"get": static},
    }


_ANY: dict[str, Any] = {"type": "object"}
_BLOB: dict[str, Any] = {
    "type": "object",
    "properties": {"sha256": {"type": "string"}, "bytes": {"type": "integer"}},
    "required": ["sha256", "bytes"],
}


def _jobs() -> dict[str, Any]:
    job = {"$ref": "#/components/schemas/Job"}
    jobs = {"type": "object", "properties": {"jobs": {"type": "array", "items": job}}, "required": ["jobs"]}
    one = _path("id", {"type": "string", "minLength": 1})
    query = {"name": "job", "in": "query", "required": True, "content": {JSON: {"schema": _ASKED}}}
    return {
        "/v1/jobs": {
            "get": _operation("list_jobs", "All jobs.", _json("They.", jobs), (404,)),
            "post": _operation(
                "submit_job",
                "Rescore a file of rollouts: JSON lines, plain or with a Content-Encoding of gzip or zstd.",
                _json("It is queued.", job),
                (404,),
                status="202",
                body={NDJSON: {"schema": {"type": "string"}}},
                parameters=[query],
            ),
        },
        "/v1/jobs/{id}": {
            "get": _operation("get_job", "How a job stands.", _json("It.", job), (404,), parameters=[one]),
            "delete": _operation(
                "delete_job",
                "Stop a job and forget it.",
                {"description": "It is gone."},
                (404,),
                status="204",
                parameters=[one],
            ),
        },
        "/v1/jobs/{id}/verdicts": {
            "get": _operation(
                "job_verdicts",
                "The rows of a finished job, with their verdicts.",
                {"description": "The lines.", "content": {NDJSON: {"schema": {"type": "string"}}}},
                (404,),
                parameters=[one],
            )
        },
    }


def _models() -> dict[str, Any]:
    model = {"$ref": "#/components/schemas/Model"}
    models = {"type": "object", "properties": {"models": {"type": "array", "items": model}}, "required": ["models"]}
    one = _path("name", {"type": "string", "minLength": 1})
    return {
        "/v1/models": {
            "get": _operation("list_models", "The configured models, and how each is.", _json("They.", models))
        },
        "/v1/models/{name}": {
            "get": _operation(
                "get_model",
                "One model, with what is known of it.",
                _json("It.", model),
                (404,),
                parameters=[one],
            )
        },
        "/v1/models/{name}/reload": {
            "post": _operation(
                "reload_model",
                "Swap a model's weights: for those of another folder or revision, or for what lies in the same place "
                "now. Answered when it is done; no work under way is lost.",
                _json("It, as it is now.", model),
                (404,),
                body={JSON: {"schema": _RELOAD}},
                parameters=[one],
            )
        },
    }


_TEXT_OR_NULL: dict[str, Any] = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}
_RELOAD: dict[str, Any] = {
    "type": "object",
    "properties": {
        "model": {**_TEXT_OR_NULL, "description": "A folder, or a hub's name, that the server allows."},
        "revision": {**_TEXT_OR_NULL, "description": "Of a hub's name."},
    },
    "additionalProperties": False,
}


_NAMED: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "params": _ANY},
    "required": ["name"],
    "additionalProperties": False,
}
_JOB_USE: dict[str, Any] = {
    "description": "A name, a name with parameters, or uses by patterns of data sources. A recipe may stand inline.",
    "anyOf": [
        {"type": "string", "minLength": 1},
        _NAMED,
        {
            "type": "object",
            "properties": {
                "routes": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": {"anyOf": [{"type": "string", "minLength": 1}, _NAMED]},
                }
            },
            "required": ["routes"],
            "additionalProperties": False,
        },
    ],
}
_PATTERNS: dict[str, Any] = {
    "description": "A pattern as in file names, or several of them.",
    "anyOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}],
}
_JOB_ROUTING: dict[str, Any] = {
    "description": "What a routing file holds, as JSON (docs/routing.md); or `starter`. Instead of `use`.",
    "anyOf": [
        {"const": "starter"},
        {
            "type": "object",
            "properties": {
                "route": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "properties": {
                            "use": {"anyOf": [{"type": "string", "pattern": r"^[a-z_]+$"}, _NAMED]},
                            "reference_form": {"enum": sorted(FORMS)},
                            **dict.fromkeys(("data_source", "id", "group"), _PATTERNS),
                        },
                        "patternProperties": {r"^metadata\.[a-z_]+$": _PATTERNS},
                        "additionalProperties": False,
                        "required": ["use"],
                    },
                }
            },
            "required": ["route"],
            "additionalProperties": False,
        },
    ],
}
_ASKED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "use": _JOB_USE,
        "routing": _JOB_ROUTING,
        "columns": {"type": "object", "additionalProperties": {"type": "string"}},
        "sort": {"type": "boolean"},
        "only": {"type": "array", "items": {"enum": ["scored", "undecided", "error", "missing"]}},
        "unscored": {"anyOf": [{"type": "null"}, {"const": "skip"}, {"type": "number"}]},
        "overwrite": {"type": "boolean"},
    },
    "oneOf": [{"required": ["use"]}, {"required": ["routing"]}],
    "additionalProperties": False,
}


def _catalogue(kind: str) -> dict[str, Any]:
    item = {"$ref": "#/components/schemas/Description"}
    listing = {"type": "object", "properties": {f"{kind}s": {"type": "array", "items": item}}, "required": [f"{kind}s"]}
    return {
        f"/v1/{kind}s": {"get": _operation(f"list_{kind}s", f"All {kind}s.", _json("They.", listing))},
        f"/v1/{kind}s/{{name}}": {
            "get": _operation(
                f"get_{kind}",
                f"One {kind}, with its schemas and cases.",
                _json("It.", item),
                (404,),
                parameters=[_path("name", {"type": "string", "minLength": 1})],
            )
        },
    }


def _operation(
    name: str,
    summary: str,
    answer: dict[str, Any],
    errors: tuple[int, ...] = (),
    *,
    free: bool = False,
    status: str = "200",
    body: dict[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """`errors`: those that are this route's own; `free`: it asks for no key."""
    made: dict[str, Any] = {"operationId": name, "summary": summary}
    if free:
        made["security"] = []
    if parameters:
        made["parameters"] = parameters
    if body:
        made["requestBody"] = {"required": True, "content": body}
    told = sorted({*errors, *(_OF_EVERY if free else _OF_GUARDED), *(_OF_BODIES if body else ())})
    answers = {str(error): _json(_ERRORS[error], {"$ref": "#/components/schemas/Error"}) for error in told}
    made["responses"] = {status: answer, **(extra or {}), **answers}
    return made


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": schema}}}


def _text(kind: str) -> dict[str, Any]:
    return {"description": "It.", "content": {kind: {"schema": {"type": "string"}}}}


def _path(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}
