"""Images of a sample, as parts of messages. Separate from prompts, which need an extra package."""

from __future__ import annotations

from collections.abc import Sequence

from rewarden.errors import InvalidSample
from rewarden.types import Media


def images(media: Sequence[Media] | None) -> Sequence[Media]:
    """The sample's images. Raises InvalidSample if there are none, since the judge was meant to see one."""
    found = [one for one in media or () if not one.mime.startswith(("audio/", "video/", "text/"))]
    if not found:
        raise InvalidSample("params.media is set, and the sample has no image", path="media")
    return found


def encodable(text: str) -> bool:
    """Returns whether a text can be encoded as UTF-8: a lone surrogate cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def address_of(media: Media) -> str:
    """The address of an image in a message part. Raises InvalidSample for media without one."""
    if not encodable(f"{media.url}{media.mime}{media.base64}"):
        raise InvalidSample("media has a lone surrogate, which no URL can contain", path="media")
    if media.url is not None:
        return media.url
    if media.base64 is not None:
        return f"data:{media.mime};base64,{media.base64}"
    if media.blob is not None:
        message = f"a judge cannot be shown blob {media.blob[:64]!r}, which only a server has; give url or base64"
        raise InvalidSample(message, path="media")
    raise InvalidSample("media that a judge is shown must have url, blob or base64", path="media")
