"""From an input to tokens: the model's own chat template or the text as it stands, harmless, and no longer than fits.

An input that holds no control tokens and fits becomes exactly what transformers makes of it.
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
"""Characters that a token has at most, but for runs of blanks: what has more than `context` times so many is not
tokenised whole. Its tokens are then counted in its beginning, and taken to be as dense in the rest."""


_BLANKS = re.compile(r"\s{64,}")


@dataclass(slots=True)
class Read:
    """An input in the form that a model reads.

    ids: tokens, never none. types: see `Row`. places: where in the rendered text each token's characters are, from and
    to; None for tokens that a tokenizer adds by itself. length: of that text. tail: what comes after the input, at the
    end of the text, as it was rendered. truncated: some of the input was dropped; neutralised: control tokens in it
    were made harmless. pixels: of its images; their tokens are in `ids`, and stand nowhere in the text.
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
        """Of each of these places in the text the first and the last token that hold it: a character may be several
        tokens. Raises Failure for what no token holds."""
        shown = [(position, place) for position, place in enumerate(self.places) if place is not None]
        # A token reaches from the end of that before it: some tokenizers leave blanks out of their places.
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
        """Positions of tokens that may be dropped: none that a tokenizer added, and none of what comes after (from this
        character of the text)."""
        return [at for at, place in enumerate(self.places) if place is not None and (upto is None or place[1] <= upto)]

    def drop(self, positions: Sequence[int]) -> None:
        """Go on without these tokens."""
        gone = set(positions)
        kept = [position for position in range(len(self.ids)) if position not in gone]
        self.ids = [self.ids[position] for position in kept]
        self.types = [self.types[position] for position in kept]
        self.places = [self.places[position] for position in kept]
        self.truncated = True


class Reader:
    """A reader of inputs with one tokenizer, and with a processor where the model sees. embeddings: how many tokens the
    model knows; None: all. marks: see `ControlTokens`. Thread-safe: once made it changes neither."""

    def __init__(
        self, tokenizer: Any, processor: Any = None, embeddings: int | None = None, marks: Sequence[str] = ()
    ) -> None:
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise Failure("loading", f"{type(tokenizer).__name__} does not report the positions of its tokens")
        # A folder may say that all texts are cut and filled up to a length; the length is ours to choose.
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
        """It puts a blank before all text, also what only goes on with another."""

    def count(self, text: str, context: int) -> int:
        """Tokens of a text alone; estimated where it is far too long for the context."""
        part = text[: context * DENSE]
        tokens = len(self._backend.encode(part, add_special_tokens=False).ids)
        return tokens if len(part) == len(text) else max(context + 1, tokens * len(text) // len(part))

    def appended(self, text: str) -> tuple[list[int], list[str]]:
        """A text that goes on with an input: its tokens, apart from those of the input, so that what siblings share
        stays the same, and the text of each, which together are the text. Raises Failure for what has no tokens."""
        lead = "\n" if self._blank else ""  # a line's end joins no token behind it
        made = self._backend.encode(lead + text, add_special_tokens=False)
        ids, ends = [], []
        for number, (start, end) in zip(made.ids, made.offsets, strict=True):
            if start >= len(lead) and end > 0:
                ids.append(number)
                ends.append(end - len(lead))
        if not ids:
            raise Failure("invalid", "a continuation of the input has no tokens")
        # Bytes of one character have all its place: their text is with the first of them.
        pieces, before = [], 0
        for end in (*ends[:-1], len(text)):
            upto = max(before, end)
            pieces.append(text[before:upto])
            before = upto
        return ids, pieces

    def read(self, item: Input, context: int, room: int = 0, tail: Sequence[str] = (), follows: str = "") -> Read:
        """The tokens of an input, with `tail` after it, so that `room` more fit into the context.

        The tail is tokenised with the input, as one text, and is never cut into. An input with images is never cut.
        follows: the text that the room is for, where it is one, harmless: what the candidate has of it is the
        candidate's. Raises Failure: `invalid` for what cannot be rendered or has nothing in it, `unsupported`,
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
        """The tokens of a prompt and two texts, each behind its mark, and each with what the tokenizer adds to a text.

        texts: each mark, its token, and the text. item: what of them is the candidate's, and how they are made to fit:
        the prompt gives way first, to three fifths of the context, and the others share equally what it leaves. Raises
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
                # Attack: a text that begins with an accent joins it to the mark, which is then no mark.
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
            [None for part in parts for _ in part.ids],  # they stand in no one text
            0,
            [],
            truncated=any(part.truncated for part in parts),
            neutralised=any(part.neutralised for part in parts),
        )

    def _texts(self, item: Input) -> tuple[str, str | None, list[Any], bool]:
        """Text, pair and images of an input, harmless, and whether they had to be made so."""
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
            places[0] = None  # a template writes by itself what a tokenizer adds to texts
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
            # Some templates write an assistant's turn anew (a thought is taken off), and the turn is then not found in
            # what they wrote. What the policy wrote comes after the beginning of its turn.
            text = self._templated(safe[:-1], begin=True) + _text_of(safe[-1]["content"])
        return text, None, images, safe != messages

    def _templated(self, messages: list[dict[str, Any]], *, begin: bool, going_on: bool = False) -> str:
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    messages, tokenize=False, add_generation_prompt=begin, continue_final_message=going_on
                )
            )
        except Exception as error:  # noqa: BLE001  # a template is a program, and refuses as it likes
            # Only what a template says itself: other errors quote the chat.
            said = f": {error}" if type(error).__name__ == "TemplateError" else ""
            raise Failure("invalid", f"the model's chat template rejects these messages{said}") from None

    def _far_too_long(self, item: Input, whole: str, context: int, room: int, follows: str) -> Failure:
        """Of a text whose tokens are estimated. How dense the candidate is says nothing about the rest, which may well
        fit: that is counted by itself."""
        candidate = self._own(item)
        bare = candidate.strip()
        if candidate and candidate in follows:
            return self._too_long(item, self.count(whole, context), context, room, follows)
        if candidate and candidate in whole:
            rest = self.count(whole.replace(candidate, "", 1), context)
        elif bare and bare in whole:  # templates strip messages; what blanks are left are the candidate's
            rest = self.count(_BLANKS.sub(" ", whole.replace(bare, "", 1)), context)
        else:  # it is there in parts, or as the template writes it; what is not its stands before it, mostly
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
        """Returns what the policy wrote, as it is read: control tokens that are taken apart are many tokens, not
        one.
        """
        return self.controls.harmless(item.candidate.encode("utf-8", "replace").decode())


def _dropped(free: list[int], excess: int, fit: Fit) -> list[int]:
    """The positions that are dropped, so many of those that may be."""
    first = 0 if fit == "left" else (len(free) - excess + 1) // 2
    return free[first : first + excess]


def _fit(part: Read, limit: int, fit: Fit) -> None:
    """Drop what is beyond the limit. Raises Failure if the tokens that cannot be dropped are more."""
    excess = len(part.ids) - limit
    if excess > 0:
        free = part.free(None)
        if excess > len(free):
            raise Failure("invalid", "the context of the model is too short to compare any texts")
        part.drop(_dropped(free, excess, fit))


def _shortened(text: str, limit: int, fit: Fit) -> str:
    """A text of which only so much is left as has a chance to be read, so that tokenising it is quick."""
    most = limit * DENSE
    if len(text) <= most:
        return text
    return text[-most:] if fit == "left" else text[: most // 2] + text[-most // 2 :]


def _checked(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises Failure for what is not a message."""
    if not isinstance(message.get("role"), str):
        raise Failure("invalid", "a message has no role")
    content = message.get("content")
    parts = isinstance(content, (list, tuple)) and all(isinstance(part, Mapping) for part in content)
    if not (content is None or isinstance(content, str) or parts):
        raise Failure("invalid", "a message's content is neither text nor parts")
    return message


def _message(message: Mapping[str, Any], in_parts: bool) -> dict[str, Any]:
    """A message as the template takes it: its content as parts, or its parts of text as one text."""
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
    """All text of a content as the template takes it."""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content or ())


def _takes_parts(tokenizer: Any) -> bool:
    """Returns whether a chat template of a model that sees takes content as parts. Of those that take nothing else some
    pass over a plain text without a word.
    """
    probe = [{"role": "user", "content": [{"type": "text", "text": "probe"}]}]
    try:
        return "probe" in tokenizer.apply_chat_template(probe, tokenize=False)
    except Exception:  # noqa: BLE001  # a template is a program, and fails as it likes
        return False
