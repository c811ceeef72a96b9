"""Responses without substance, which judges have been seen to pass: nobody is asked about them.

A colon, a blank, or an opener such as "Thought process:" alone is accepted by many judges, in some set-ups for most
questions (Zhao et al. 2025, One Token to Fool LLM-as-a-Judge, arXiv 2507.08794); so is the claim that the task was
completed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rewarden_verifiers.judges.fencing import harmless
from rewarden_verifiers.judges.unified import unified

_OPENERS = re.compile(
    r"(?:"
    r"(?:thought|thinking|reasoning) process|solution|explanation|final answer|the answer is"
    r"|let'?s (?:think|solve|work)(?: (?:about|through|on|out))?(?: (?:this|it|the) ?(?:problem|question|task)?)?"
    r"(?: (?:step[- ]by[- ]step|carefully|together))*"
    r"|(?:here is|here'?s|below is) (?:the|my|a) (?:solution|answer|response)"
    r"|to solve this(?: problem)?|解|解答|思考过程|让我们逐步解决这个问题|かいせつ|解説"
    r"|respuesta|solución|lösung|réponse"
    r")",
    re.IGNORECASE,
)

_BEGINNINGS = re.compile(
    r"(?:answer|proof|analysis|step[- ]by[- ]step|step 1|first|okay|sure|certainly|of course|we need to|答案)",
    re.IGNORECASE,
)
"""Texts that may well be an answer, unless they end as a beginning does."""

_TASK = (
    r"(?:(?:the|this|that|your|all|every|each|my|our|of) ){0,3}(?:\w+ )?(?:tasks?|jobs?|work|problems?|questions?"
    r"|requests?|assignments?|exercises?|objectives?|goals?|steps|instructions|requirements|everything|it|this|that|all)"
)

_DONE = re.compile(
    rf"(?:(?:i|we)(?: have|'ve|’ve)? |{_TASK} (?:has |have |is |are |was |were )?|all )(?:now )?(?:been )?(?:now )?"
    r"(?:(?:successfully|fully|correctly|already) )?"
    rf"(?:completed?|done|finished|solved|accomplished|fulfilled|met|satisfied)(?: {_TASK})?"
    r"(?: (?:successfully|correctly|as requested|as instructed))?",
    re.IGNORECASE,
)
"""Subject and object are the task: who completed a marathon may be answering."""

_EMPTY = re.compile(r"</?(?:answer|final|final_answer|solution|response|think)>|\\boxed\s*\{\s*\}", re.IGNORECASE)
"""Markup that holds an answer, where nothing is in it."""

_ARTICLE = re.compile(r"^(?:an?|the) ")

_AROUND = " \t\r\n:.,;!?*#_-–—…`'\"()[]{}：。！，、？"

_LONGEST = 120
"""Characters of a sentence without substance."""

_READ = 200_000
"""Characters of a text whose invisible ones are taken away first."""

_SCANNED = 10_000
"""Characters of a text that is looked at: openers that are repeated up to here are openers still."""


def empty_reason(response: str, reference: str | Sequence[str] | None = None) -> str | None:
    """Returns why there is nothing to judge: `blank`, `opener_only`, `claim_only`; None where there is something.

    A text that is the reference, or one of several, or says it in a sentence of its own, is none of these, whatever it
    looks like.
    """
    references = () if reference is None else (reference,) if isinstance(reference, str) else reference
    bare = {_bare(one) for one in references} - {""}
    if any(response.strip() == one.strip() for one in references) or _bare(response) in bare:
        return None
    # What nobody sees makes no text long.
    text = harmless(response).text.strip() if len(response) <= _READ else response
    text = _EMPTY.sub(" ", text).strip() or text
    if len(text) <= _SCANNED:
        text = unified(text)
    if not any(_shown(character) for character in _EMPTY.sub("", text)):
        return None if _of_marks(text, references) else "blank"
    if len(text) > _SCANNED:
        return None
    sentences = {" ".join(part.split()).strip(_AROUND) for part in re.split(r"[.!:\n]+", text)} - {""}
    if any(_bare(part) in bare for part in sentences):
        return None
    if any(len(part) > _LONGEST for part in sentences):
        return None
    openers = {part for part in sentences if _OPENERS.fullmatch(part)}
    if text[-1] in ":," or text.endswith(".."):
        openers |= {part for part in sentences if _BEGINNINGS.fullmatch(part)}
    if openers == sentences:
        return "opener_only"
    if all(_DONE.fullmatch(part) for part in sentences - openers):
        return "claim_only"
    return None


def _bare(text: str) -> str:
    """Returns what is left of a short text without case, punctuation around it and an article."""
    if len(text) > _LONGEST:
        return ""
    return _ARTICLE.sub("", unified(text).casefold().strip(_AROUND))


def _of_marks(text: str, references: Sequence[str]) -> bool:
    """Returns whether a text holds a reference that consists of nothing but marks, such as `%` or `[]`."""
    wanted = ("".join(unified(one).split()) for one in references if len(one) <= _LONGEST)
    there = "".join(text.split())
    return any(one and one in there and not any(_shown(character) for character in one) for one in wanted)


def _shown(character: str) -> bool:
    """Returns whether a character alone may be an answer: a letter, a digit, a symbol, a character that is yet to be
    named.
    """
    category = unicodedata.category(character)
    return category[0] in "LN" or category in ("Sc", "Sm", "So", "Cn", "Co")
