"""The settings of the judges that can be asked for opinions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Le, doc

from rewarden_server.access.service_key import KeyOfFile, OneKey
from rewarden_server.setting import Amount, Count, Positive, Tables, Text, Whole, tables
from rewarden_verifiers.schema import AfterValidator, Misfit


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEndpoint:
    """One judge: a model behind an endpoint, how it is asked, and what it may take.

    model: as its server calls it. provider: `openai`: whatever speaks OpenAI's chat protocol at `base_url` (none:
    OpenAI itself); `litellm`: other vendors, through that package. api_key_env: the environment variable that holds the
    key; api_key: the key itself. headers: sent with each request. extra: fields that are added to each request's body,
    such as `chat_template_kwargs`.

    temperature, top_p, max_tokens: of the sampling, where the verifier's parameters say nothing; max_tokens is of a
    reply with one verdict, and each further one (a criterion, a step) makes it an eighth more. thinking_tokens: the
    budget of a judge that thinks before it replies, added to max_tokens: its thought counts among the reply's tokens,
    and a reply that they cut off is no verdict. A reply that is cut off is asked for once more with four times the
    tokens. structured: how a
    reply's form is enforced: by `json_schema`, as a `json_object`, by nothing (`none`); `auto`: the first of these that
    the server takes.

    concurrency: requests in flight at once. requests_per_minute, tokens_per_minute: none: no limit. timeout_s: of one
    attempt, from its start to the reply's end; connect_s: until there is a connection. retries: further attempts after
    408, 409, 429, 5xx, a time-out, a lost connection, or a reply that is none; backoff_s: the longest pause before one:
    a server that asks for more with 429 is not waited for. breaker_failures: after so many failures in a row (429 is
    none: the server is there; of failures at the same time only the first counts) the judge is deemed down. Questions
    then wait in line, and one at a time is sent, with pauses of at most breaker_s seconds; outage_s: the seconds that
    one question waits so in all.

    fallback: judges that are asked, in order, where this one cannot be. input_usd, output_usd: of a million tokens.
    budget_usd, budget_tokens, budget_calls: what all requests of this process together may take, which is exceeded by
    no more than one request. What a request took whose end is not known counts with its upper bound.
    """

    model: Annotated[Text, doc("the model's name, as its server calls it")]
    base_url: Text | None = None
    provider: Literal["openai", "litellm"] = "openai"
    api_key_env: Text | None = None
    api_key: Text | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict)
    temperature: Amount = 0.0
    top_p: Positive | None = None
    max_tokens: Whole = 1024
    thinking_tokens: Count = 0
    structured: Literal["auto", "json_schema", "json_object", "none"] = "auto"
    concurrency: Annotated[Whole, Le(1000)] = 64
    requests_per_minute: Whole | None = None
    tokens_per_minute: Whole | None = None
    timeout_s: Positive = 120.0
    connect_s: Positive = 10.0
    retries: Count = 4
    backoff_s: Positive = 20.0
    breaker_failures: Whole = 3
    breaker_s: Positive = 15.0
    outage_s: Positive = 600.0
    fallback: Annotated[tuple[str, ...], doc("a list of judges' names")] = ()
    input_usd: Amount | None = None
    output_usd: Amount | None = None
    budget_usd: Amount | None = None
    budget_tokens: Count | None = None
    budget_calls: Count | None = None


def _checked(judges: Mapping[str, JudgeEndpoint]) -> Mapping[str, JudgeEndpoint]:
    for name, judge in judges.items():
        if judge.budget_usd is not None and judge.input_usd is None and judge.output_usd is None:
            raise Misfit("needs input_usd and output_usd", f".{name}.budget_usd")
        for other in judge.fallback:
            if other not in judges or other == name:
                known = ", ".join(one for one in judges if one != name) or "none"
                raise Misfit(f": {other!r} is no other judge; there are: {known}", f".{name}.fallback")
    return judges


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The judges that can be asked for opinions. named: the judges; default: of samples that name none; the only one
    where nothing is set. cache_mb: replies that are remembered, MiB; 0: none."""

    named: Annotated[
        Mapping[str, Annotated[JudgeEndpoint, KeyOfFile, OneKey]],
        Tables,
        AfterValidator(_checked),
        tables("judges.named"),
    ] = field(default_factory=dict)
    default: Text | None = None
    cache_mb: Count = 64
