"""Servers that speak vLLM's and SGLang's protocols, as their protocol files have them, over a toy model whose every
number can be computed beside them. What is held with them is our reading of the protocols, not those engines."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.threaded import Threaded

VOCABULARY = 60_000
_DRAWN = 64


class Toy:
    """A language model, a head and an encoder that are functions of the tokens before."""

    def logprob(self, ids: Sequence[int], token: int) -> float:
        """Of `token` behind `ids`: not normalised over the vocabulary, which nobody sees."""
        return -0.01 - 8.0 * self._share("lm", [*ids, token])

    def outputs(self, ids: Sequence[int], labels: int) -> list[float]:
        """A head's raw outputs at the last of `ids`, from -6 to 6."""
        return [12.0 * self._share(f"head{label}", ids) - 6.0 for label in range(labels)]

    def vector(self, ids: Sequence[int]) -> list[float]:
        """Of length 1."""
        made = [self._share(f"vector{place}", ids) - 0.5 for place in range(8)]
        length = math.sqrt(math.fsum(value * value for value in made))
        return [value / length for value in made]

    @staticmethod
    def _share(what: str, ids: Sequence[int]) -> float:
        digest = hashlib.blake2b(f"{what}:{list(ids)}".encode(), digest_size=6).digest()
        return int.from_bytes(digest, "big") / 2**48


@dataclass
class FakeEngine:
    """A server on a thread of this process. labels: outputs of its head. activated: it leaves out the wish for raw
    outputs, as old versions do. tag: it pools by STEP, at this token. chosen: it knows the wish for certain tokens.
    vectors: its model has no head. failures: statuses that are answered first. requests: (path, body) as they came. A
    context manager."""

    labels: int = 1
    activated: bool = False
    tag: int | None = None
    chosen: bool = True
    vectors: bool = False
    context: int = 4096
    failures: list[int] = field(default_factory=list)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    toy: Toy = field(default_factory=Toy)
    url: str = ""

    def routes(self) -> dict[str, Any]:
        """Returns what is answered, by path."""
        raise NotImplementedError

    def shown(self, values: list[float], raw: bool) -> list[float]:
        """Outputs, after the activation where it is on."""
        if raw and not self.activated:
            return values
        if len(values) == 1:
            return [1 / (1 + math.exp(-values[0]))]
        total = math.fsum(map(math.exp, values))
        return [math.exp(value) / total for value in values]

    async def _answer(self, request: Request) -> Response:
        body = await request.json() if request.method == "POST" else {}
        self.requests.append((request.url.path, body))
        if self.failures:
            return JSONResponse({"error": "scripted"}, status_code=self.failures.pop(0))
        if self.vectors and request.url.path == "/classify":
            return JSONResponse({"error": {"message": "Not Found"}}, status_code=404)
        return JSONResponse(self.routes()[request.url.path](body))

    def __enter__(self) -> FakeEngine:
        routes = [Route(path, self._answer, methods=["GET", "POST"]) for path in self.routes()]
        self._server = Threaded(routes)
        self.url = self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()


class FakeVllm(FakeEngine):
    """vLLM's."""

    def routes(self) -> dict[str, Any]:
        """See the class above."""
        return {
            "/v1/models": lambda body: {"data": [{"id": "served", "root": "org/model", "max_model_len": self.context}]},
            "/classify": lambda body: {"data": [{"index": 0, "label": "x", "probs": self._head(body)}]},
            "/score": lambda body: {"data": [{"index": 0, "score": self._pair(body)}]},
            "/v1/embeddings": lambda body: {"data": [{"index": 0, "embedding": self.toy.vector(body["input"])}]},
            "/pooling": lambda body: {"data": [{"index": 0, "data": self._tokens(body)}]},
            "/v1/completions": self._complete,
        }

    def _head(self, body: dict[str, Any]) -> list[float]:
        return self.shown(self.toy.outputs(body["input"], self.labels), body.get("use_activation") is False)

    def _pair(self, body: dict[str, Any]) -> float:
        ids = [*body["text_1"].encode(), 0, *body["text_2"].encode()]
        return self.shown(self.toy.outputs(ids, 1), body.get("use_activation") is False)[0]

    def _tokens(self, body: dict[str, Any]) -> list[list[float]]:
        assert body["task"] == "token_classify"
        ids, raw = body["input"], body.get("use_activation") is False
        places = [place for place, token in enumerate(ids) if self.tag in (None, token)]
        return [self.shown(self.toy.outputs(ids[: place + 1], self.labels), raw) for place in places]

    def _complete(self, body: dict[str, Any]) -> dict[str, Any]:
        prompts = body["prompt"]
        many = prompts if isinstance(prompts[0], list) else [prompts]
        choices = [self._choice(body, ids, place) for place, ids in enumerate(many)]
        # Those of several prompts come in no order that was promised.
        usage = {"prompt_tokens": sum(map(len, many)), "completion_tokens": len(many)}
        return {"choices": choices[::-1], "usage": usage}

    def _choice(self, body: dict[str, Any], ids: list[int], place: int) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": place, "text": " written", "finish_reason": "length"}
        if body.get("prompt_logprobs") is not None:
            rows: list[Any] = [None]
            for place in range(1, len(ids)):
                told = {"logprob": self.toy.logprob(ids[:place], ids[place]), "rank": 9, "decoded_token": "?"}
                rows.append({"7": {"logprob": -0.001, "rank": 1, "decoded_token": "!"}, str(ids[place]): told})
            choice["prompt_logprobs"] = rows
        if body.get("logprobs") is not None:
            wanted = body["logprob_token_ids"] if self.chosen else [7]
            row = {f"token_id:{token}": self.toy.logprob(ids, token) for token in wanted}
            choice["logprobs"] = {"top_logprobs": [row], "tokens": ["?"], "token_logprobs": [0.0], "text_offset": [0]}
        return choice


class FakeSglang(FakeEngine):
    """SGLang's."""

    def routes(self) -> dict[str, Any]:
        """See the class above."""
        return {
            "/model_info": lambda body: {"model_path": "org/model", "weight_version": "default"},
            "/v1/models": lambda body: {"data": [{"id": "served", "max_model_len": self.context}]},
            "/classify": lambda body: [
                {"embedding": self.shown(self.toy.outputs(body["input_ids"], self.labels), True)}
            ],
            "/v1/embeddings": lambda body: {"data": [{"index": 0, "embedding": self.toy.vector(body["input"])}]},
            "/generate": self._generate,
            "/update_weights_from_disk": lambda body: {"success": True, "message": "done"},
        }

    def _generate(self, body: dict[str, Any]) -> dict[str, Any]:
        ids, meta = body["input_ids"], {"finish_reason": {"type": "stop"}, "completion_tokens": 1}
        if body.get("return_logprob"):
            start, wanted = body["logprob_start_len"], body["token_ids_logprob"]

            def entries(place: int) -> list[list[Any]]:
                return [[self.toy.logprob(ids[:place], token), token, None] for token in wanted]

            inside: list[Any] = [None, *(entries(place) for place in range(start + 1, len(ids)))]
            meta |= {"input_token_ids_logprobs": inside, "output_token_ids_logprobs": [entries(len(ids))]}
        return {"text": " written", "meta_info": meta}
