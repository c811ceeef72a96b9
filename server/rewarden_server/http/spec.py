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
from rewarden_server.service import Service

_ERRORS = {
    400: "The request is malformed; `details.path` is the field at fault where there is one.",
    401: "The API key is missing or unknown.",
    404: "There is no such thing.",
    405: "The method is not for this route.",
    409: "A verifier's fingerprint is not the one that the request demands.",
    413: "The request is over a limit; `details.limit` names it.",
    415: "The body is of a form that is not read here.",
    429: "Too much is under way; come back after `Retry-After` seconds.",
    500: "A defect of the server.",
    503: "The server starts or drains, or nothing can run in its sandbox.",
}
_ON_WORK = (400, 401, 404, 409, 413, 415, 429, 500, 503)


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
    free: dict[str, Any] = {"security": []}
    return {
        "/v1/verify": {
            "post": _operation(
                "verify",
                "Judge a batch: all samples at once, all verdicts at once.",
                _json("The verdicts.", {"$ref": "#/components/schemas/BatchResult"}),
                _ON_WORK,
                body={JSON: {"schema": {"$ref": "#/components/schemas/Batch"}}},
            )
        },
        "/v1/verify/stream": {
            "post": _operation(
                "verify_stream",
                'Judge samples as they come. A line `{"batch": Header}`, then a Sample a line; lines `VerdictLine` and '
                '`GroupLine` come back as they end, at last `{"done": {"verdicts": n}}` or an `Error`.',
                {"description": "The lines.", "content": {NDJSON: {"schema": {"type": "string"}}}},
                _ON_WORK,
                body={NDJSON: {"schema": {"type": "string"}}},
            )
        },
        "/v1/run": {
            "post": _operation(
                "run",
                "Run a program in the sandbox. Nothing is kept, and equal programs run each.",
                _json("How it ended.", {"$ref": "#/components/schemas/RunResult"}),
                (400, 401, 413, 415, 429, 500, 503),
                body={JSON: {"schema": {"$ref": "#/components/schemas/Run"}}},
            )
        },
        "/v1/blobs/{sha256}": {
            "put": _operation(
                "put_blob",
                "Keep content that later requests name by its SHA-256. 201: it is new; 200: it was here.",
                _json("It is here.", _BLOB),
                (400, 401, 413, 415, 429, 500),
                body={"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
                parameters=[_path("sha256", {"type": "string", "pattern": "^[0-9a-f]{64}$"})],
                extra={"201": _json("It is here now.", _BLOB)},
            )
        },
        **_jobs(),
        **_catalogue("verifier"),
        **_catalogue("recipe"),
        "/v1/info": {
            "get": _operation("info", "Versions, places where work runs, limits.", _json("It.", _ANY), (401, 500))
        },
        "/healthz": {
            "get": {**_operation("healthz", "Whether the process lives.", _json("Yes.", _ANY), (500,)), **free}
        },
        "/readyz": {
            "get": {**_operation("readyz", "Whether work is admitted.", _json("Yes.", _ANY), (500, 503)), **free}
        },
        "/metrics": {"get": _operation("metrics", "Metrics for Prometheus.", _text("text/plain"), (401, 500))},
        "/docs": {"get": {**_operation("docs", "The verifiers' pages.", _text("text/html"), (500,)), **free}},
        "/": {"get": {**_operation("index", "What is where.", _text("text/html"), (500,)), **free}},
        "/openapi.json": {"get": {**_operation("openapi", "This document.", _json("It.", _ANY), (500,)), **free}},
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
            "get": _operation("list_jobs", "All jobs.", _json("They.", jobs), (401, 404, 500)),
            "post": _operation(
                "submit_job",
                "Rescore a file of rollouts: JSON lines, plain or with a Content-Encoding of gzip or zstd.",
                _json("It is queued.", job),
                (400, 401, 404, 413, 415, 500, 503),
                status="202",
                body={NDJSON: {"schema": {"type": "string"}}},
                parameters=[query],
            ),
        },
        "/v1/jobs/{id}": {
            "get": _operation("get_job", "How a job stands.", _json("It.", job), (401, 404, 500), parameters=[one]),
            "delete": _operation(
                "delete_job",
                "Stop a job and forget it.",
                {"description": "It is gone."},
                (401, 404, 500),
                status="204",
                parameters=[one],
            ),
        },
        "/v1/jobs/{id}/verdicts": {
            "get": _operation(
                "job_verdicts",
                "The rows of a finished job, with their verdicts.",
                {"description": "The lines.", "content": {NDJSON: {"schema": {"type": "string"}}}},
                (401, 404, 500),
                parameters=[one],
            )
        },
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
        f"/v1/{kind}s": {"get": _operation(f"list_{kind}s", f"All {kind}s.", _json("They.", listing), (401, 500))},
        f"/v1/{kind}s/{{name}}": {
            "get": _operation(
                f"get_{kind}",
                f"One {kind}, with its schemas and cases.",
                _json("It.", item),
                (401, 404, 500),
                parameters=[_path("name", {"type": "string", "minLength": 1})],
            )
        },
    }


def _operation(
    name: str,
    summary: str,
    answer: dict[str, Any],
    errors: tuple[int, ...],
    *,
    status: str = "200",
    body: dict[str, Any] | None = None,
    parameters: list[dict[str, Any]] | None = None,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    made: dict[str, Any] = {"operationId": name, "summary": summary}
    if parameters:
        made["parameters"] = parameters
    if body:
        made["requestBody"] = {"required": True, "content": body}
    answers = {str(status): _json(_ERRORS[status], {"$ref": "#/components/schemas/Error"}) for status in errors}
    made["responses"] = {status: answer, **(extra or {}), **answers}
    return made


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": schema}}}


def _text(kind: str) -> dict[str, Any]:
    return {"description": "It.", "content": {kind: {"schema": {"type": "string"}}}}


def _path(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema}
