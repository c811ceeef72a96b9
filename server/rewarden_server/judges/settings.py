"""The settings of judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from annotated_types import Le, Lt, doc

from rewarden_server.access.service_key import KeyOfFile, OneKey
from rewarden_server.setting import Amount, Count, Positive, Tables, Text, Whole, tables
from rewarden_verifiers.schema import AfterValidator, Misfit


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEndpoint:
    """One judge: a model at an endpoint, how to call it, and its limits.

    model: its name on the server. provider: `openai`: any server with OpenAI's chat protocol at `base_url` (none:
    OpenAI itself); `litellm`: other vendors, through that package. api_key_env: the environment variable that holds the
    key; api_key: the key itself. headers: sent with each request. extra: fields to add to the body of each request,
    such as `chat_template_kwargs`.

    temperature, top_p, max_tokens: sampling parameters, unless the verifier's parameters set them. max_tokens is for a
    reply with one verdict; each further verdict (a criterion, a step) adds an eighth. thinking_tokens: the budget of a
    judge that thinks before it replies, added to max_tokens, because its thought counts among the reply's tokens; a
    reply that is cut off has no verdict. A truncated reply is requested once more with four times the tokens.
    context: the tokens that a question and its reply can have together. If not set, the model's server is asked (vLLM
    and SGLang state `max_model_len` in `/v1/models`). Longer responses are judged in portions.
    structured: how the form of a reply is enforced: by `json_schema`, as a `json_object`, or not at all (`none`);
    `auto`: the first of these that the server accepts.

    base_urls: several addresses of the same model, in the place of base_url. Questions that begin alike go to one of
    them, and elsewhere if it fails or has too much to do; an address that fails is left for a while, at most breaker_s
    seconds. hedge: if a reply takes longer than this share of the latest replies took, a second address is asked too,
    and the first reply counts; 0: never.

    concurrency: requests in flight at once, at each address. requests_per_minute, tokens_per_minute: none: no limit.
    timeout_s: for one attempt, from its start to the end of the reply; connect_s: for the connection. retries: further
    attempts after 408, 409, 429, 5xx, a timeout, a lost connection, or an invalid reply; backoff_s: the longest pause
    before a retry, unless a server requests a longer one with 429. breaker_failures: after this many consecutive
    failures the judge is considered down (a 429 does not count; of simultaneous failures only the first counts).
    Questions then wait, and one at a time is sent, with pauses of at most breaker_s seconds. outage_s: the seconds that
    one question waits in total, there and in the longer pauses after 429.

    fallback: judges to call instead, in order, if this one is not available. weak: whether its verdicts are flagged as
    those of a model that is too small to judge. input_usd, output_usd: the price of a
    million tokens. budget_usd, budget_tokens, budget_calls: the limit for all requests of this process together, which
    is exceeded by at most one request. A request whose end is unknown counts with its upper bound.
    """

    model: Annotated[Text, doc("the model's name on its server")]
    base_url: Text | None = None
    base_urls: Annotated[tuple[Text, ...], doc("a list of addresses")] = ()
    provider: Literal["openai", "litellm"] = "openai"
    api_key_env: Text | None = None
    api_key: Text | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict)
    temperature: Amount = 0.0
    top_p: Positive | None = None
    max_tokens: Whole = 1024
    thinking_tokens: Count = 0
    context: Whole | None = None
    structured: Literal["auto", "json_schema", "json_object", "none"] = "auto"
    concurrency: Annotated[Whole, Le(1000)] = 64
    requests_per_minute: Whole | None = None
    tokens_per_minute: Whole | None = None
    timeout_s: Positive = 120.0
    connect_s: Positive = 10.0
    retries: Count = 4
    backoff_s: Positive = 20.0
    hedge: Annotated[Amount, Lt(1)] = 0.95
    breaker_failures: Whole = 3
    breaker_s: Positive = 15.0
    outage_s: Positive = 600.0
    fallback: Annotated[tuple[str, ...], doc("a list of judges' names")] = ()
    weak: bool = False
    input_usd: Amount | None = None
    output_usd: Amount | None = None
    budget_usd: Amount | None = None
    budget_tokens: Count | None = None
    budget_calls: Count | None = None

    def addressed(self) -> list[JudgeEndpoint]:
        """Returns the settings of each address."""
        return [replace(self, base_url=url, base_urls=()) for url in self.base_urls or (self.base_url,)]


def _checked(judges: Mapping[str, JudgeEndpoint]) -> Mapping[str, JudgeEndpoint]:
    for name, judge in judges.items():
        if judge.budget_usd is not None and judge.input_usd is None and judge.output_usd is None:
            raise Misfit("needs input_usd and output_usd", f".{name}.budget_usd")
        if judge.base_urls and judge.base_url is not None:
            raise Misfit("and base_url are both set", f".{name}.base_urls")
        if len(set(judge.base_urls)) < len(judge.base_urls):
            raise Misfit("must not name an address twice", f".{name}.base_urls")
        for other in judge.fallback:
            if other not in judges or other == name:
                known = ", ".join(one for one in judges if one != name) or "none"
                raise Misfit(f": {other!r} is not another judge; known: {known}", f".{name}.fallback")
    return judges


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The judges. named: the judges by name; default: the judge of samples that name none; if not set, the only judge.
    cache_mb: the size of the cache of replies, in MiB; 0: none."""

    named: Annotated[
        Mapping[str, Annotated[JudgeEndpoint, KeyOfFile, OneKey]],
        Tables,
        AfterValidator(_checked),
        tables("judges.named"),
    ] = field(default_factory=dict)
    default: Text | None = None
    cache_mb: Count = 64
