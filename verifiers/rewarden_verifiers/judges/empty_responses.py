"""Responses without substance, which judges tend to accept: no judge is called for them.

Many judges accept a colon, a blank, or an opener such as "Thought process:" alone, in some set-ups for most questions
(Zhao et al. 2025, One Token to Fool LLM-as-a-Judge, arXiv 2507.08794), and also the claim that the task was completed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from rewarden_verifiers.judges.fencing import harmless
from rewarden_verifiers.judges.unified import unified
from rewarden_verifiers.turn_markers import replace_markers

_OPENERS = re.compile(
    r"(?:"
    r"(?:thought|thinking|reasoning) process|(?:final )?verdict|solution|explanation|final answer|the answer is"
    r"|let'?s (?:think|solve|work)(?: (?:about|through|on|out))?(?: (?:this|it|the) ?(?:problem|question|task)?)?"
    r"(?: (?:step[- ]by[- ]step|carefully|together))*"
    r"|(?:here is|here'?s|below is) (?:the|my|a) (?:solution|answer|response)"
    r"|to solve this(?: problem)?|解|解答|思考过程|让我们逐步解决这个问题|かいせつ|解説"
    r"|respuesta|solución|lösung|réponse"
    r")",
    re.IGNORECASE,
)

_BEGINNINGS = re.compile(
    r"(?:answer|proof|analysis|step[- ]by[- ]step|(?:step|part) \d{1,2}|first|okay|sure|certainly|of course|we need to"
    r"|答案)",
    re.IGNORECASE,
)
"""Texts that can be real answers, so they count as openers only if they end like an opener or stand next to one."""

_MATTER = r"(?:(?:the|this|that|your|our|my) )?(?:given )?(?:problem|question|task|exercise|answer|solution|equation)"

_ANNOUNCEMENTS = re.compile(
    r"(?:(?:alright|all right|okay|ok|sure|certainly|of course|well|now|great|so|hmm|right|first),? )*"
    r"(?:let'?s|let us|let me|i'?ll|i will|i am going to|i'm going to|we'?ll|we will|we need to|we have to|i need to"
    r"|we can) (?:(?:now|first|carefully|start by|begin by|try to) )*(?:"
    r"(?:think|solve|tackle|analy[sz]e|break)(?: (?:about|through|down|over))?"
    rf"(?: (?:{_MATTER}|it|this|that))?(?: down)?"
    r"|(?:work|start|begin|approach|address|analy[sz]ing|understanding|look|figure|find|dive|consider|examine|understand"
    rf"|determine|answer)(?: (?:through|on|out|at|into|in|with))* {_MATTER}"
    r")(?: (?:step[- ]by[- ]step|one step at a time|carefully|together|first))*",
    re.IGNORECASE,
)
"""Announcements whose object is the task itself: a response that says to find Nemo, or to go, may be an answer."""

_HEADINGS = re.compile(
    r"(?:understand|understanding|analy[sz]e|analy[sz]ing|read|reading|restate|restating|solve|solving|verify|verifying"
    r"|check|checking|identify|identifying|plan|planning|set up|setting up|interpret|interpreting|define|defining)"
    r" (?:the )?(?:key |given |relevant |final )?"
    r"(?:problem|question|task|solution|approach|answer|information|facts|variables|requirements)(?: carefully)?",
    re.IGNORECASE,
)

_INTRODUCTIONS = re.compile(
    r"(?:(?:so|thus|hence|therefore|in conclusion|finally|as a result),? ?)?"
    r"(?:(?:the|my|our) (?:final |correct |right )?(?:answer|result|solution|conclusion)(?: to (?:this|the) \w+)?"
    r" (?:is|would be|will be|must be|should be|is as follows)(?: as follows)?|in conclusion|to conclude)",
    re.IGNORECASE,
)
"""Phrases that introduce an answer, for responses in which no answer follows."""

_REFERENCE = re.compile(
    r"(?:(?:the|my|this|our|it) ?(?:final )?(?:answer|response|solution|result)? ?(?:is )?)?(?:exactly |just )?"
    r"(?:(?:the )?(?:same as|identical to|equal to|equivalent to)|match(?:es|ing)?|agree(?:s|ing) with|as in"
    r"|as given in|consistent with|see) (?:the )?(?:(?:reference|gold|golden|ground[- ]truth)"
    r"(?: (?:answer|solution|response|label|one))?|(?:expected|model|correct|standard) (?:answer|solution|response))",
    re.IGNORECASE,
)
"""Claims to match the reference. They must name it: "the same as the reference frame" may be an answer."""

_VERDICTS = re.compile(
    r"(?:(?:the |my |this |that |it )?(?:final )?(?:(?:answer|response|solution|verdict|grade|result|it) ?)?"
    r"(?:is |was )?)?"
    r"(?:100 ?% |fully |completely |absolutely )?(?P<word>correct|accurate|pass|passed|accepted|approved|verified)"
    r"|(?P<sign>[✓✔☑✅]+)",
    re.IGNORECASE,
)
"""Verdicts on the response itself. They are answers only if the prompt asks to choose between two such words."""

_OPPOSITES = re.compile(
    r"\b(?:incorrect|inaccurate|wrong|false|fail(?:ed|s)?|reject(?:ed)?|denied|unverified)\b|[✗✘❌]", re.IGNORECASE
)

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
"""Claims that the task is done. Subject and object must be the task: "I completed a marathon" may be an answer."""

_EMPTY = re.compile(r"</?(?:answer|final|final_answer|solution|response|think)>|\\boxed\s*\{\s*\}", re.IGNORECASE)
"""Empty answer markup."""

_OPENING = (_OPENERS, _ANNOUNCEMENTS, _HEADINGS, _INTRODUCTIONS)

_ARTICLE = re.compile(r"^(?:an?|the) ")

_AROUND = " \t\r\n:.,;!?*#_-–—…`'\"()[]{}：。！，、？"

_LONGEST = 120
"""Maximum number of characters of a sentence without substance."""

_READ = 200_000
"""Maximum number of characters of a text whose invisible characters are removed first."""

_SCANNED = 10_000
"""Number of characters that are examined: an opener repeated up to this length is still an opener."""


def empty_reason(
    response: str, reference: str | Sequence[str] | None = None, *, asked: str | None = None
) -> str | None:
    """Returns why there is nothing to judge: `blank`, `opener_only` or `claim_only`; None if there is something.

    A text that equals a reference, or contains one as a sentence of its own, always has substance. asked: the prompt
    and the criteria, which show whether a bare `correct` can be an answer; None: unknown, so it is taken as an answer.
    """
    references = () if reference is None else (reference,) if isinstance(reference, str) else reference
    bare = {_bare(one) for one in references} - {""}
    if any(response.strip() == one.strip() for one in references) or _bare(response) in bare:
        return None
    # Invisible characters do not make a text long.
    text = response
    if len(response) <= _READ:
        # Turn markers are removed entirely, unless a reference contains some.
        bare_text = (
            response
            if any(replace_markers(one, _nothing)[1] for one in references)
            else replace_markers(response, _nothing)[0]
        )
        text = harmless(bare_text).text.strip()
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
    openers = {part for part in sentences if any(form.fullmatch(part) for form in _OPENING)}
    if openers or text[-1] in ":," or text.endswith(".."):
        openers |= {part for part in sentences if _BEGINNINGS.fullmatch(part)}
    if openers == sentences:
        return "opener_only"
    rest = sentences - openers
    if all(
        _DONE.fullmatch(part) or _REFERENCE.fullmatch(part) or _own_verdict(part, references, asked) for part in rest
    ):
        return "claim_only"
    return None


def _own_verdict(part: str, references: Sequence[str], asked: str | None) -> bool:
    """Returns whether a sentence is only a verdict on the response itself: the references do not contain its word, and
    the prompt does not ask to choose between such words.
    """
    found = _VERDICTS.fullmatch(part)
    if found is None or asked is None:
        return False
    word = (found["word"] or found["sign"]).casefold()
    if any(word in one.casefold() for one in references if len(one) <= _READ):
        return False
    return not (word in asked.casefold() and _OPPOSITES.search(asked) is not None)


def _nothing(marker: str) -> str:
    return " "


def _bare(text: str) -> str:
    """Returns a short text in lower case, without surrounding punctuation and without its article."""
    if len(text) > _LONGEST:
        return ""
    return _ARTICLE.sub("", unified(text).casefold().strip(_AROUND))


def _of_marks(text: str, references: Sequence[str]) -> bool:
    """Returns whether a text contains a reference that consists only of marks, such as `%` or `[]`."""
    wanted = ("".join(unified(one).split()) for one in references if len(one) <= _LONGEST)
    there = "".join(text.split())
    return any(one and one in there and not any(_shown(character) for character in one) for one in wanted)


def _shown(character: str) -> bool:
    """Returns whether a single character can be an answer: a letter, digit or symbol, or a character not yet assigned
    in Unicode.
    """
    category = unicodedata.category(character)
    return category[0] in "LN" or category in ("Sc", "Sm", "So", "Cn", "Co")
