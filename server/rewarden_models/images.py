"""Images in a chat: taken out of its messages, decoded with care, and turned into a vision model's input.

Only `data:` URLs are read: this process fetches nothing. The chat's author may be the policy that is being scored, so
an image is decoded only in the formats listed here, and only after its header has told its size.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden_models.failure import Failure
from rewarden_verifiers.chat import Message

FORMATS = ("PNG", "JPEG", "WEBP")

MAX_PIXELS = 4096 * 4096
"""Limit for one image. Attack: a few kilobytes of PNG can claim to be gigabytes (decompression bomb)."""

MAX_BYTES = 20 * 1024**2
"""Limit for one image, after base64 decoding."""

MAX_IMAGES = 32
"""Limit for one input."""

_DATA = re.compile(r"data:image/(?:png|jpe?g|webp);base64,", re.IGNORECASE)


def extract_images(messages: Sequence[Message], processor: Any) -> tuple[list[Message], list[Any]]:
    """The messages with `{"type": "image"}` in place of each image, as chat templates expect it, and the images in
    order (RGB, upright). Without images: the messages unchanged, and an empty list.

    Raises Failure: `unsupported` for images if there is no processor, so that nothing is scored without them; `invalid`
    for something that is not an image, is too large, or would have to be fetched.
    """
    made: list[Message] = []
    addresses: list[Any] = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, str) or not isinstance(content, Sequence):
            made.append(message)
            continue
        parts: list[Any] = []
        for part in content:
            kind = part.get("type") if isinstance(part, Mapping) else None
            if kind == "image_url":
                told = part.get("image_url")
                addresses.append(told.get("url") if isinstance(told, Mapping) else None)
                parts.append({"type": "image"})
            elif kind == "image":  # it would take the place of another part's image
                raise Failure("invalid", "a part of type image has no image; images are parts of type image_url")
            else:
                parts.append(part)
        made.append({**message, "content": parts})
    if not addresses:
        return list(messages), []
    if processor is None or _marker(processor) is None:
        raise Failure("unsupported", "the input has images, but this model reads only text")
    if len(addresses) > MAX_IMAGES:
        raise Failure("invalid", f"the input has {len(addresses)} images; the limit is {MAX_IMAGES}")
    return made, [_decoded(address) for address in addresses]


@dataclass(slots=True)
class Pixels:
    """A model's arguments for the images of an input. tensors: by the model's argument names. kinds: the arguments that
    say, for a whole row, which tokens are an image's (1) and which are text (0); ones: those values for the input's
    tokens."""

    tensors: Mapping[str, Any]
    kinds: Sequence[str]
    ones: list[int]

    def row(self, length: int) -> dict[str, Any]:
        """The tensors for a row of `length` tokens that begins with the input and continues with text."""
        import torch

        whole = torch.tensor([self.ones + [0] * (length - len(self.ones))])
        return {**self.tensors, **dict.fromkeys(self.kinds, whole)}


def insert_images(ids: Sequence[int], images: Sequence[Any], processor: Any) -> tuple[list[list[int]], Pixels]:
    """The tokens of a rendered chat, with each image's placeholder replaced by the tokens that the processor gives it:
    one list for each of `ids`, of a single token or of all of an image's.

    Raises Failure (`invalid`) if there are not as many placeholders as images (the text then has placeholders of its
    own, and images would end up in the wrong places), or if the processor refuses an image.
    """
    token, mark = _marker(processor) or ("", -1)
    places = [at for at, found in enumerate(ids) if found == mark]
    if len(places) != len(images):
        raise Failure("invalid", f"the rendered input has {len(places)} image placeholders for {len(images)} images")
    try:
        # One at a time for their tokens; all together for their tensors, which may be padded to each other's size.
        alone = [_processed(processor, token, [image]) for image in images]
        together = alone[0] if len(alone) == 1 else _processed(processor, token * len(images), list(images))
    except (ValueError, OSError, ZeroDivisionError) as error:
        raise Failure("invalid", f"an image cannot be read by this model: {error}"[:300]) from None
    kinds = [name for name in _KINDS if name in together]
    pieces = [[one] for one in ids]
    ones = [[0] for _ in ids]
    for at, one in zip(places, alone, strict=True):
        pieces[at] = one["input_ids"][0].tolist()
        ones[at] = one[kinds[0]][0].tolist() if kinds else [1] * len(pieces[at])
    skipped = {"input_ids", "attention_mask", *kinds}
    tensors = {name: value for name, value in together.items() if name not in skipped}
    return pieces, Pixels(tensors, kinds, [kind for piece in ones for kind in piece])


_KINDS = ("mm_token_type_ids", "token_type_ids")


def _marker(processor: Any) -> tuple[str, int] | None:
    """An image's placeholder in a rendered chat: its text and its token. None if this processor does not state one."""
    token = getattr(processor, "image_token", None)
    token = getattr(token, "content", token)
    if not isinstance(token, str) or getattr(processor, "image_processor", None) is None:
        return None
    mark = processor.tokenizer.convert_tokens_to_ids(token)
    return (token, mark) if isinstance(mark, int) and mark != processor.tokenizer.unk_token_id else None


def _processed(processor: Any, text: str, images: list[Any]) -> Mapping[str, Any]:
    made = processor(text=[text], images=[images], return_tensors="pt", add_special_tokens=False)
    return dict(made)


def _decoded(address: Any) -> Any:
    if not isinstance(address, str) or not _DATA.match(address):
        raise Failure(
            "invalid", "an image must be a data: URL with base64 of a PNG, JPEG or WebP; other URLs are not read"
        )
    body = address[address.index(",") + 1 :]
    if len(body) > MAX_BYTES * 4 // 3 + 4:
        raise Failure("invalid", f"an image is larger than {MAX_BYTES} bytes")
    try:
        data = base64.b64decode(body, validate=True)
    except binascii.Error:
        raise Failure("invalid", "an image's data is not valid base64") from None
    from PIL import Image, ImageOps

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(data), formats=FORMATS)
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise Failure("invalid", f"an image has {width} x {height} pixels; the limit is {MAX_PIXELS}")
            return ImageOps.exif_transpose(image).convert("RGB")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise Failure("invalid", f"an image has more than {MAX_PIXELS} pixels") from None
    # A damaged file can make a decoder raise almost anything.
    except (OSError, SyntaxError, ValueError, EOFError, KeyError, IndexError, TypeError, MemoryError) as error:
        raise Failure("invalid", f"an image cannot be decoded: {type(error).__name__}: {error}"[:300]) from None
