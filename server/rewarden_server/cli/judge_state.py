"""The state of judges, for `rewarden doctor`: whether each answers, without asking it for an opinion."""

from __future__ import annotations

import asyncio
import time

from rewarden.errors import MissingDependency
from rewarden_server.config import Config
from rewarden_server.judges.endpoint import provider_of
from rewarden_server.judges.failure import FIXES, Failure
from rewarden_server.judges.identity import default_judge
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_server.lean.projects import without_credentials
from rewarden_server.observe.check import Check, Problem

_PATIENCE_S = 30.0


async def judge_state(config: Config) -> Check:
    """Calls each address of each judge, for one token at most."""
    named = config.judges.named
    if not named:
        return Check("judges", "none (no judges.named)", used=False)
    default = default_judge(config.judges)
    summary = f"{len(named)} configured, {f'by default {default}' if default else 'no default'}"
    lines: list[str] = []
    missing: list[Problem] = []
    asked = [(name, one) for name, judge in named.items() for one in judge.addressed()]
    found = await asyncio.gather(*(_probed(name, judge) for name, judge in asked))
    for (name, judge), (told, problem) in zip(asked, found, strict=True):
        at = without_credentials(judge.base_url) if judge.base_url else judge.provider
        lines.append(f"{name}: {judge.model} at {at} {told}")
        if problem is not None:
            which = f"judges.named.{name} at {at}" if len(named[name].base_urls) > 1 else f"judges.named.{name}"
            missing.append(Problem(f"{which}: {problem.what}", problem.fix))
    return Check("judges", summary, tuple(lines), tuple(missing))


async def _probed(name: str, judge: JudgeEndpoint) -> tuple[str, Problem | None]:
    """Returns a description of a judge, and its problem, or None."""
    provider = provider_of(name, judge)
    started = time.monotonic()
    try:
        async with asyncio.timeout(min(_PATIENCE_S, judge.timeout_s)):
            told = await provider.probe()
    except Failure as failure:
        return "does not answer", Problem(str(failure), FIXES.get(failure.kind, "see docs/configuration.md"))
    except TimeoutError:
        return "does not answer", Problem(f"no answer within {min(_PATIENCE_S, judge.timeout_s):g} s", FIXES["timeout"])
    except MissingDependency as error:
        text, _, command = error.message.rpartition(": pip install ")
        return "cannot be called", Problem(text, f"pip install {command}")
    finally:
        await provider.close()
    return f"{told} ({(time.monotonic() - started) * 1000:.0f} ms)", None
