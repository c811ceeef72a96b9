"""From an input to tokens: through the model's own chat template or as plain text, made harmless, and cut to fit.

An input that fits and contains no control tokens becomes exactly what transformers would make of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

from rewarden_models.control_tokens import ControlTokens
from rewarden_models.failure import Failure
from rewarden_models.images import Pixels, extract_images, insert_images
from rewarden_verifiers.inference import Fit, Input

DENSE = 64
"""The most characters that a token is assumed to have, apart from runs of blanks. A text of more than `context` times
as many is not tokenised whole: the tokens of its beginning are counted, and the rest is taken to be as dense."""


_BLANKS = re.compile(r"\s{64,}")


@dataclass(slots=True)
class Read:
    """An input as a model reads it.

    ids: tokens, at least one. types: see `Row`. places: the start and end of each token's characters in the rendered
    text; None for tokens that the tokenizer adds. length: of that text. tail: what follows the input at the end of the
    text, as rendered. truncated: part of the input was dropped; neutralised: control tokens in it were made harmless.
    pixels: of its images; their tokens are in `ids` but have no place in the text.
    """

    ids: list[int]
    types: list[int]
    places: list[tuple[int, int] | None]
    length: int
    tail: list[str]
    truncated: bool = False
    neutralised: bool = False
    pixels: Pixels | None = None

    def positions(self, characters: Sequence[int]) -> list[tuple[int, int]]:
        """For each of these places in the text, the first and last token that hold it: a character may be several
        tokens. Raises Failure if no token holds one."""
        shown = [(position, place) for position, place in enumerate(self.places) if place is not None]
        # A token extends from the end of the one before: some tokenizers leave blanks out of their places.
        ends = list(accumulate((place[1] for _, place in shown), max))
        found = []
        for character in characters:
            first = last = bisect_right(ends, character)
            if first == len(shown):
                raise Failure("invalid", "the model's tokenizer drops the text at which to read")
            while last + 1 < len(shown) and shown[last + 1][1] == shown[first][1]:
                last += 1
            found.append((shown[first][0], shown[last][0]))
        return found

    def free(self, upto: int | None) -> list[int]:
        """Positions of tokens that may be dropped: those that the tokenizer did not add and that end by `upto`, the
        character where the tail begins."""
        return [at for at, place in enumerate(self.places) if place is not None and (upto is None or place[1] <= upto)]

    def drop(self, positions: Sequence[int]) -> None:
        """Drop these tokens."""
        gone = set(positions)
        kept = [position for position in range(len(self.ids)) if position not in gone]
        self.ids = [self.ids[position] for position in kept]
        self.types = [self.types[position] for position in kept]
        self.places = [self.places[position] for position in kept]
        self.truncated = True


class Reader:
    """Reads inputs with one tokenizer, and with a processor if it is a vision model. embeddings: how many tokens the
    model knows; None: all. marks: see `ControlTokens`. Thread-safe: it changes neither once it has been created."""

    def __init__(
        self, tokenizer: Any, processor: Any = None, embeddings: int | None = None, marks: Sequence[str] = ()
    ) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise Failure("loading", f"{type(tokenizer).__name__} does not report the positions of its tokens")
        # A folder may configure truncation and padding of all texts; the length is ours to choose.
        backend.no_truncation()
        backend.no_padding()
        self._tokenizer = tokenizer
        self._processor = processor
        self._backend = backend
        if processor is not None and getattr(tokenizer, "chat_template", None) is None:
            tokenizer.chat_template = getattr(processor, "chat_template", None)
        self._in_parts = processor is not None and _takes_parts(tokenizer)
        self.controls = ControlTokens(tokenizer, embeddings, marks)
        made = backend.encode("a", add_special_tokens=False).tokens
        self._blank = bool(made) and made[0].startswith("▁")
        """True if the tokenizer puts a blank before every text, even one that continues another."""

    def count(self, text: str, context: int) -> int:
        """The number of tokens of a text alone; an estimate if it is far too long for the context."""
        part = text[: context * DENSE]
        tokens = len(self._backend.encode(part, add_special_tokens=False).ids)
        return tokens if len(part) == len(text) else max(context + 1, tokens * len(text) // len(part))

    def appended(self, text: str) -> tuple[list[int], list[str]]:
        """The tokens of a text that continues an input, and the text of each token; joined, these give the text. It is
        tokenised separately, so that the prefix that siblings share stays the same. Raises Failure if it has no tokens.
        """
        lead = "\n" if self._blank else ""  # a line break never merges into the token after it
        made = self._backend.encode(lead + text, add_special_tokens=False)
        ids, ends = [], []
        for number, (start, end) in zip(made.ids, made.offsets, strict=True):
            if start >= len(lead) and end > 0:
                ids.append(number)
                ends.append(end - len(lead))
        if not ids:
            raise Failure("invalid", "a continuation of the input has no tokens")
        # The bytes of one character all have its offsets: the first of them gets the text.
        pieces, before = [], 0
        for end in (*ends[:-1], len(text)):
            upto = max(before, end)
            pieces.append(text[before:upto])
            before = upto
        return ids, pieces

    def read(self, item: Input, context: int, room: int = 0, tail: Sequence[str] = (), follows: str = "") -> Read:
        """The tokens of an input followed by `tail`, leaving `room` for more tokens within the context.

        The tail is tokenised together with the input, as one text, and is never cut. An input with images is never cut.
        follows: the harmless text that the room is for, if any; whatever of the candidate it contains counts as the
        candidate's. Raises Failure: `invalid` for an input that cannot be rendered or is empty, `unsupported`,
        `too_long`.
        """
        text, pair, images, changed = self._texts(item)
        if images:
            item = replace(item, fit="error")
        if pair is not None and tail:
            raise Failure("invalid", "a pair of texts cannot have a continuation")
        tail = [self.controls.seam(before, after) + after for before, after in pairwise([text, *tail])]
        behind = "".join(tail)
        limit = context - room
        characters = len(text) + len(pair or "")
        if limit < 1 or len(behind) > limit * DENSE or (item.fit == "error" and characters > limit * DENSE):
            raise self._far_too_long(item, text + (pair or "") + behind, context, room, follows)
        shown, other = _shortened(text, limit, item.fit), _shortened(pair or "", limit, item.fit)
        made = self._made(shown + behind, None if pair is None else other, tail, chat=item.messages is not None)
        made.neutralised, made.truncated = changed, characters > len(shown) + len(other)
        if images:
            self._place(made, images)
        if all(place is None for place in made.places):
            raise Failure("invalid", "the input has no tokens")
        excess = len(made.ids) - limit
        if excess > 0:
            free = made.free(len(shown) if tail else None)
            if item.fit == "error" or excess >= len(free):
                raise self._too_long(item, len(made.ids), context, room, follows)
            made.drop(_dropped(free, excess, item.fit))
        return made

    def read_marked(self, texts: Sequence[tuple[str, int, str]], item: Input, context: int) -> Read:
        """The tokens of a prompt and two texts, each after its mark and with whatever the tokenizer adds to a text.

        texts: each mark, its token, and the text. item: the candidate's part of them, and how to make them fit: the
        prompt is cut first, to three fifths of the context, and the other two share the remainder equally. Raises
        Failure: `invalid`, `too_long`.
        """
        safe = [self._harmless(text) for *_, text in texts]
        if not any(text.strip() for text, _ in safe[1:]):
            raise Failure("invalid", "the input is empty")
        characters = sum(len(text) for text, _ in safe)
        if item.fit == "error" and characters > context * DENSE:
            raise self._far_too_long(item, "\n".join(text for text, _ in safe), context, 0, "")
        parts = []
        for (mark, number, _), (text, changed) in zip(texts, safe, strict=True):
            shown = _shortened(text, context, item.fit)
            part = self._made(mark + shown, None, [], chat=False)
            part.neutralised = changed
            if number not in part.ids:
                # Attack: a text that begins with an accent joins it to the mark, which is then no longer a mark.
                part = self._made(f"{mark} {shown}", None, [], chat=False)
                part.neutralised = True
            if part.ids.count(number) != 1:
                raise Failure("invalid", f"the model's tokenizer does not read {mark} as one token")
            part.truncated = len(text) > context * DENSE
            part.places = [None if place is None or place[1] <= len(mark) else place for place in part.places]
            parts.append(part)
        whole = sum(len(part.ids) for part in parts)
        if whole > context:
            if item.fit == "error":
                raise self._too_long(item, whole, context, 0, "")
            _fit(parts[0], context - 2 * (context // 5), item.fit)
            for part in parts[1:]:
                _fit(part, (context - len(parts[0].ids)) // 2, item.fit)
        return Read(
            [one for part in parts for one in part.ids],
            [0 for part in parts for _ in part.ids],
            [None for part in parts for _ in part.ids],  # the tokens belong to several texts
            0,
            [],
            truncated=any(part.truncated for part in parts),
            neutralised=any(part.neutralised for part in parts),
        )

    def _texts(self, item: Input) -> tuple[str, str | None, list[Any], bool]:
        """Text, pair and images of an input, made harmless, and whether that changed anything."""
        if (item.messages is None) == (item.text is None):
            raise Failure("invalid", "an input has either messages or a text")
        if item.messages is not None:
            if item.pair is not None:
                raise Failure("invalid", "a pair must be strings, not messages")
            return self._chat(item)
        text, changed = self._harmless(item.text or "")
        pair, also = self._harmless(item.pair) if item.pair is not None else (None, False)
        if not text.strip() and not (pair or "").strip():
            raise Failure("invalid", "the input is empty")
        return text, pair, [], changed or also

    def _made(self, text: str, pair: str | None, tail: list[str], chat: bool) -> Read:
        made = self._backend.encode(text, pair, add_special_tokens=not chat)
        places = [
            None if special else place for place, special in zip(made.offsets, made.special_tokens_mask, strict=True)
        ]
        if chat and places and made.ids[0] == self._tokenizer.bos_token_id:
            places[0] = None  # a template writes itself what a tokenizer adds to plain text
        return Read(list(made.ids), list(made.type_ids), places, len(text), tail)

    def _place(self, made: Read, images: list[Any]) -> None:
        pieces, made.pixels = insert_images(made.ids, images, self._processor)
        made.places = [
            place if len(piece) == 1 else None for piece, place in zip(pieces, made.places, strict=True) for _ in piece
        ]
        made.types = [kind for piece, kind in zip(pieces, made.types, strict=True) for _ in piece]
        made.ids = [one for piece in pieces for one in piece]

    def _harmless(self, text: str) -> tuple[str, bool]:
        made = self.controls.harmless(text)
        return made, made != text

    def _chat(self, item: Input) -> tuple[str, None, list[Any], bool]:
        given, images = extract_images([_checked(message) for message in item.messages or ()], self._processor)
        messages = [_message(message, self._in_parts) for message in given]
        if not any(message.get("content") for message in messages):
            raise Failure("invalid", "the input is empty")
        if getattr(self._tokenizer, "chat_template", None) is None:
            raise Failure("unsupported", "the model's tokenizer has no chat template, so it reads text, not messages")
        safe = self.controls.within(messages)
        going_on = item.open and messages[-1]["role"] == "assistant"
        try:
            text = self._templated(safe, begin=item.begin and not going_on, going_on=going_on)
        except Failure:
            if not going_on or len(safe) < 2:
                raise
            # Some templates rewrite an assistant's turn (they remove a thought), and the turn is then not found in
            # their output. So the policy's text is appended to the beginning of its turn.
            text = self._templated(safe[:-1], begin=True) + _text_of(safe[-1]["content"])
        return text, None, images, safe != messages

    def _templated(self, messages: list[dict[str, Any]], *, begin: bool, going_on: bool = False) -> str:
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    messages, tokenize=False, add_generation_prompt=begin, continue_final_message=going_on
                )
            )
        except Exception as error:  # noqa: BLE001  # a template is a program and may raise anything
            # Quote only the template's own errors: others quote the chat.
            said = f": {error}" if type(error).__name__ == "TemplateError" else ""
            raise Failure("invalid", f"the model's chat template rejects these messages{said}") from None

    def _far_too_long(self, item: Input, whole: str, context: int, room: int, follows: str) -> Failure:
        """The failure for a text whose tokens are estimated. The candidate's density says nothing about the rest, which
        may well fit, so the rest is counted separately."""
        candidate = self._own(item)
        bare = candidate.strip()
        if candidate and candidate in follows:
            return self._too_long(item, self.count(whole, context), context, room, follows)
        if candidate and candidate in whole:
            rest = self.count(whole.replace(candidate, "", 1), context)
        elif bare and bare in whole:  # templates strip messages; the blanks that remain are the candidate's
            rest = self.count(_BLANKS.sub(" ", whole.replace(bare, "", 1)), context)
        else:  # it is in the text in parts or as rewritten by the template; the rest mostly comes before it
            others = whole[: max(len(whole) - len(candidate), 0)]
            rest = min(self.count(others, context), self.count(whole, context))
        return self._too_long(item, rest + self.count(candidate, context), context, room, follows)

    def _too_long(self, item: Input, read: int, context: int, room: int, follows: str) -> Failure:
        """read: tokens of the input. The candidate may be in it, or in what follows."""
        candidate = self._own(item)
        own = self.count(candidate, context)
        if candidate and candidate in follows:
            own = max(room - self.count(follows.replace(candidate, "", 1), context), 0)
            if item.fit != "error":
                read = min(read, context)  # it would have been cut
        tokens = max(read + room, context + 1)
        return Failure(
            "too_long",
            f"the input, with its continuation, has {tokens} tokens; the limit of the model is {context}",
            tokens=tokens,
            context=context,
            candidate=own,
        )

    def _own(self, item: Input) -> str:
        """The policy's text as it is read: a control token that is broken apart is many tokens, not one."""
        return self.controls.harmless(item.candidate.encode("utf-8", "replace").decode())


def _dropped(free: list[int], excess: int, fit: Fit) -> list[int]:
    """The positions to drop: `excess` of those that may be dropped."""
    first = 0 if fit == "left" else (len(free) - excess + 1) // 2
    return free[first : first + excess]


def _fit(part: Read, limit: int, fit: Fit) -> None:
    """Drop what exceeds the limit. Raises Failure if the tokens that must stay exceed it by themselves."""
    excess = len(part.ids) - limit
    if excess > 0:
        free = part.free(None)
        if excess > len(free):
            raise Failure("invalid", "the context of the model is too short to compare any texts")
        part.drop(_dropped(free, excess, fit))


def _shortened(text: str, limit: int, fit: Fit) -> str:
    """A text cut to what has a chance of being read, so that tokenising it is quick."""
    most = limit * DENSE
    if len(text) <= most:
        return text
    return text[-most:] if fit == "left" else text[: most // 2] + text[-most // 2 :]


def _checked(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message, if it is one. Raises Failure otherwise."""
    if not isinstance(message.get("role"), str):
        raise Failure("invalid", "a message has no role")
    content = message.get("content")
    parts = isinstance(content, (list, tuple)) and all(isinstance(part, Mapping) for part in content)
    if not (content is None or isinstance(content, str) or parts):
        raise Failure("invalid", "a message's content is neither text nor parts")
    return message


def _message(message: Mapping[str, Any], in_parts: bool) -> dict[str, Any]:
    """A message in the form that the template takes: its content as parts, or its text parts joined."""
    made = dict(message)
    content: Any = made.get("content")
    if isinstance(content, (list, tuple)) and any(part.get("type") not in ("text", "image") for part in content):
        raise Failure("unsupported", "a message has parts that are neither text nor images")
    if isinstance(content, str) and content:
        made["content"] = [{"type": "text", "text": content}] if in_parts else content
    elif content is not None and in_parts:
        made["content"] = list(content)
    elif content is not None:
        made["content"] = "".join(str(part.get("text", "")) for part in content)
    return made


def _text_of(content: Any) -> str:
    """All text in a message's content, in the form that the template takes."""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content or ())


def _takes_parts(tokenizer: Any) -> bool:
    """Returns whether a vision model's chat template takes content as parts. Some templates that take nothing else
    silently skip plain text.
    """
    probe = [{"role": "user", "content": [{"type": "text", "text": "probe"}]}]
    try:
        return "probe" in tokenizer.apply_chat_template(probe, tokenize=False)
    except Exception:  # noqa: BLE001  # a template is a program and may raise anything
        return False
