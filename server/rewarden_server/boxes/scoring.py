"""Scoring a box: its final answer is judged like any sample."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rewarden.boxes.types import ScoreRequest
from rewarden.errors import InvalidRequest, SampleError
from rewarden.types import BadSample, Batch, Sample, Use, Verdict
from rewarden.wire.json import sample_from_json, use_from_json
from rewarden_sandboxes.errors import FileFault
from rewarden_server.boxes.box import Box
from rewarden_server.engine.lanes.boxes import JudgedBox

if TYPE_CHECKING:
    from rewarden_server.service import Service

MISSING, TOO_LARGE, NOT_TEXT = "response_file_missing", "response_file_too_large", "response_file_not_text"
"""Flags of a verdict on a file. With the first two, an empty response was judged, because the policy wrote no file."""


async def score(service: Service, box: Box, asked: ScoreRequest, surface: str) -> Verdict:
    """Returns the verdict. The box's processes are frozen while its file is read. Raises RequestError."""
    use = check_use(service, asked)
    response, flag = asked.response if asked.response is not None else "", None
    if asked.response_file is not None:
        response, flag = await _text_of(service, box, asked.response_file)
    row = {"response": response, "reference": asked.reference, "prompt": asked.prompt, "metadata": asked.metadata}
    sample: Sample | BadSample = sample_from_json({name: value for name, value in row.items() if value is not None})
    batch = Batch(samples=(sample,), use=use)
    judged = JudgedBox(box.remote, box.image, box.task, _trajectory_of(box))
    with service.boxes.busy(box):
        result = await service.verify(service.take_batch(batch), surface, judged)
    (verdict,) = result.verdicts
    return verdict if flag is None else replace(verdict, flags=(*verdict.flags, flag))


def _trajectory_of(box: Box) -> Callable[[str], bytes] | None:
    return None if box.trajectory is None else partial(box.trajectory.to_json, box.id)


def check_use(service: Service, asked: ScoreRequest) -> Use:
    """Returns the use of a request. Raises InvalidRequest if it needs a response that the request does not have."""
    use = use_from_json(asked.use)
    if asked.response is not None and asked.response_file is not None:
        raise InvalidRequest("send response or response_file, not both", path="response")
    if asked.response is None and asked.response_file is None and not judges_boxes(service, use):
        raise InvalidRequest("send one of response and response_file", path="response")
    return use


def judges_boxes(service: Service, use: Use) -> bool:
    """Returns whether a use can judge the box without a response. Raises InvalidRequest for one that cannot be
    bound."""
    try:
        return service.engine.planner.bind(use).spec.live_box
    except SampleError as error:
        raise InvalidRequest(error.message, path="use") from None


async def _text_of(service: Service, box: Box, path: str) -> tuple[str, str | None]:
    """Returns the text of a file, and a flag. Raises RequestError."""
    most = service.limits.max_sample_bytes
    data = bytearray()
    async with service.boxes.using(box) as remote:
        # Attack: a process that changes the file while it is read, so that the text read never existed as a whole.
        await remote.stop()
        try:
            async with contextlib.aclosing(remote.get(path)) as pieces:
                async for piece in pieces:
                    data += piece
                    if len(data) > most:
                        return "", TOO_LARGE
        except FileFault:
            # Attack: a link to something unreadable, a socket, or a full memory. The policy chooses what the name
            # refers to, so this is its answer.
            return "", MISSING
        finally:
            await remote.resume()
    try:
        return data.decode(), None
    except UnicodeDecodeError:
        return data.decode(errors="replace"), NOT_TEXT
