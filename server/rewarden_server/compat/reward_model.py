"""A reward model's routes, as vLLM and SGLang serve them, for frameworks that support nothing else.

    POST /compat/reward_model/math/classify   {"model": "…", "input": "the response"}   → data[0].probs[0]
    POST /compat/reward_model/math/score      {"text_1": "the reference", "text_2": "the response"}   → data[0].score

Scores are returned unchanged: `probs` contains one number, which is not a probability and can be outside 0…1. vLLM's
bodies are those of vllm/entrypoints/pooling (main, 2026), SGLang's those of sglang 0.5.23. Information that such
clients never send (a reference, the start of the response) can be given in further fields or in the address: see
docs/trainers/reward-model.md.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.errors import InvalidRequest, NotFound, Overloaded, Unavailable
from rewarden.types import BadSample, Sample, Use
from rewarden_server.catalogue import KINDS, names
from rewarden_server.compat.peer_requests import Answer, Asked, asked_of, body_of, judge, number_of, paths, sample_of
from rewarden_server.http.replies import json_reply
from rewarden_server.service import Service

PEER = "reward_model"

OWN_ROUTING = ("rewarden", "default")
"""Values of `model` that leave the choice of the verifier to the server: ours, and what SGLang's clients send by
default."""

EXTRAS = ("reference", "prompt", "data_source", "metadata", "group")
"""Further fields of a sample that a body may have: one value for all inputs, or a list with one for each."""

ADDRESS = ("after", "until", "text_1")
"""Further parameters of an address: the place of the response, and the meaning of a pair's first text."""

_PAIRS = (("text_1", "text_2"), ("queries", "documents"), ("queries", "items"), ("data_1", "data_2"))
_NO_USAGE = {"prompt_tokens": 0, "total_tokens": 0, "completion_tokens": 0, "prompt_tokens_details": None}

_Fields = dict[str, Any]
_Answered = Callable[[_Fields, Sequence[float], str], Any]
_Read = Callable[[Request, _Fields], list[_Fields]]


def routes(service: Service) -> list[Route]:
    """The routes that score, and those by which clients check that the server is up."""

    def scoring(read: _Read, answered: _Answered) -> Answer:
        async def answer(request: Request) -> Response:
            try:
                return json_reply(await scored(request))
            except Overloaded as error:  # verl retries after any 5xx, but not after a 429
                raise Unavailable(error.message, **error.details) from None

        async def scored(request: Request) -> Any:
            async with body_of(request, service) as body:
                asked = _asked(request, body, service)
                samples = [_sample(fields) for fields in read(request, body)]
                verdicts = await judge(request, service, samples, asked, PEER)
                return answered(body, [number_of(each, asked) for each in verdicts], _model(body, asked))

        return answer

    async def models(request: Request) -> Response:
        asked = asked_of(request, *ADDRESS)
        known = (*OWN_ROUTING[:1], *_known(service)) if asked.use is None else (_model({}, asked),)
        card = {"object": "model", "created": int(time.time()), "owned_by": "rewarden", "parent": None}
        return json_reply({"object": "list", "data": [{"id": name, "root": name, **card} for name in known]})

    async def health(request: Request) -> Response:
        reason = await service.why_not_ready()
        if reason is not None:
            raise Unavailable(reason)
        return Response()

    shapes = [  # `/v1/…` comes first: in `/{use}/score` it would be taken for a verifier's name
        ("/v1/classify", _inputs, _classes),
        ("/v1/embeddings", _inputs, _embeddings),
        ("/v1/score", _pairs, _scores),
        ("/classify", _inputs, _classes),
        ("/pooling", _inputs, _pooled),
        ("/score", _pairs, _scores),
    ]
    probes = paths(PEER, "/v1/models", models, "GET") + paths(PEER, "/health", health, "GET")
    return probes + [
        route for ending, read, answered in shapes for route in paths(PEER, ending, scoring(read, answered))
    ]


# --- what is asked ---------------------------------------------------------------------------------------------


def _asked(request: Request, body: _Fields, service: Service) -> Asked:
    """The verifier is named by the address, or otherwise by the body's `model`. Raises InvalidRequest, NotFound."""
    asked, model = asked_of(request, *ADDRESS), body.get("model")
    if asked.use is not None or model is None or model in OWN_ROUTING:
        return asked
    if model not in _known(service):
        raise NotFound(
            f"model: {str(model)[:100]!r} is neither a verifier nor a recipe of this server; name one there or in the "
            f"URL, /compat/{PEER}/NAME/classify; GET /compat/{PEER}/v1/models lists them"
        )
    return replace(asked, use=Use(name=model))


def _known(service: Service) -> list[str]:
    return [name for kind in KINDS for name in names(service.engine, kind)]


def _inputs(request: Request, body: _Fields) -> list[_Fields]:
    """The samples of `messages` (one), or of `input` (vLLM) or `text` (SGLang): a text or a list of texts."""
    if "messages" in body:
        return _with_extras([_conversation(body["messages"])], body, listed=False)
    name = "text" if "text" in body and "input" not in body else "input"
    texts = body.get(name)
    listed = isinstance(texts, list)
    rows = [_cut(text, request.query_params) for text in _texts(name, texts)]
    return _with_extras(rows, body, listed)


def _pairs(request: Request, body: _Fields) -> list[_Fields]:
    """The samples of `text_1` × `text_2`: one with each, or each with its own. `text_2` contains the responses."""
    first_is = request.query_params.get("text_1", "reference")
    if first_is not in ("reference", "prompt"):
        raise InvalidRequest(f"text_1: must be 'reference' or 'prompt', not {first_is[:40]!r}", path="text_1")
    first, second = next((pair for pair in _PAIRS if pair[0] in body and pair[1] in body), _PAIRS[0])
    ones, responses = _texts(first, body.get(first)), _texts(second, body.get(second))
    if len(ones) == 1:
        ones = ones * len(responses)
    if len(ones) != len(responses):
        raise InvalidRequest(f"{first}: has {len(ones)} texts and {second} has {len(responses)}; use 1:1, 1:N or N:N")
    cut = [_cut(response, request.query_params) for response in responses]
    rows = [{**fields, first_is: one} for one, fields in zip(ones, cut, strict=True)]
    return _with_extras(rows, body, isinstance(body[second], list))


def _texts(name: str, value: Any) -> list[str]:
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) for text in texts):
        raise InvalidRequest(f"{name}: must be a string or a list of strings; token ids are not supported", path=name)
    return texts


def _cut(text: str, query: Mapping[str, str]) -> _Fields:
    """The response within a text that starts with the prompt: the part after the last `after`, up to `until`. A
    truncated response may lack `until`; if `after` is missing, the address is wrong. Raises InvalidRequest.
    """
    fields: _Fields = {"response": text}
    if after := query.get("after"):
        prompt, found, response = text.rpartition(after)
        if not found:
            raise InvalidRequest(f"after: {after[:40]!r} does not occur in the text", path="after")
        fields = {"prompt": prompt, "response": response}
    if until := query.get("until"):
        fields["response"] = fields["response"].partition(until)[0]
    return fields


def _conversation(messages: Any) -> _Fields:
    """The response is everything after the last message of a user or the system."""
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise InvalidRequest("messages: must be a list of chat messages", path="messages")
    asked = [place for place, each in enumerate(messages) if each.get("role") in ("user", "system", "developer")]
    begin = asked[-1] + 1 if asked else 0
    if begin == len(messages):
        raise InvalidRequest("messages: must end with the model's response", path="messages")
    return {"prompt": messages[:begin] or None, "response": messages[begin:]}


def _with_extras(rows: Iterable[_Fields], body: _Fields, listed: bool) -> list[_Fields]:
    """The rows with the extra fields of the body; a list of inputs takes a list of values one by one."""
    rows = list(rows)
    for name in EXTRAS:
        value = body.get(name)
        if value is None:
            continue
        apart = listed and isinstance(value, list)
        if apart and len(value) != len(rows):
            raise InvalidRequest(f"{name}: has {len(value)} values for {len(rows)} inputs", path=name)
        rows = [{**row, name: value[place] if apart else value} for place, row in enumerate(rows)]
    return rows


def _sample(fields: _Fields) -> Sample:
    sample = sample_of(fields)
    if isinstance(sample, BadSample):
        raise InvalidRequest(f"{sample.path}: {sample.message}", path=sample.path)
    return sample


# --- what is answered ------------------------------------------------------------------------------------------


def _model(body: _Fields, asked: Asked) -> str:
    if asked.use is not None:
        return asked.use.name or "recipe"
    return str(body.get("model") or OWN_ROUTING[0])


def _listing(prefix: str, model: str, data: list[_Fields]) -> _Fields:
    head = {"id": f"{prefix}-{uuid.uuid4().hex}", "object": "list", "created": int(time.time()), "model": model}
    return {**head, "data": data, "usage": _NO_USAGE}


def _classes(body: _Fields, scores: Sequence[float], model: str) -> Any:
    """vLLM's classes: one, with the score as its probability. For `text`, SGLang's own answer."""
    if "text" in body and "input" not in body and "messages" not in body:
        found = [{"embedding": [score], "meta_info": {"id": uuid.uuid4().hex, "prompt_tokens": 0}} for score in scores]
        return found if isinstance(body["text"], list) else found[0]
    data = [
        {"index": place, "label": "LABEL_0", "probs": [score], "num_classes": 1} for place, score in enumerate(scores)
    ]
    return _listing("classify", model, data)


def _embeddings(body: _Fields, scores: Sequence[float], model: str) -> Any:
    """OpenAI's embeddings, of one number. Always numbers, whatever `encoding_format`: base64 would round them."""
    data = [{"index": place, "object": "embedding", "embedding": [score]} for place, score in enumerate(scores)]
    return _listing("embd", model, data)


def _pooled(body: _Fields, scores: Sequence[float], model: str) -> Any:
    data = [{"index": place, "object": "pooling", "data": [score]} for place, score in enumerate(scores)]
    return _listing("pool", model, data)


def _scores(body: _Fields, scores: Sequence[float], model: str) -> Any:
    data = [{"index": place, "object": "score", "score": score} for place, score in enumerate(scores)]
    return _listing("score", model, data)
