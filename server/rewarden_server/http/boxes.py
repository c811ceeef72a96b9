"""`/v1/sessions`: boxes, which live for a rollout; see `rewarden_server.boxes`.

A key sees its own boxes. A lease, sent as `Authorization: Bearer rwl_…` or as `Rewarden-Lease`, opens one box with the
rights that it names.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rewarden.boxes.call import BoxCall
from rewarden.errors import InternalError, InvalidRequest
from rewarden.wire.json import dumps, error_to_json
from rewarden_server.access.caller import CURRENT
from rewarden_server.boxes.desk import DEPTH, WAIT_S, Desk
from rewarden_server.boxes.requests import request_of
from rewarden_server.http.access import Served, needs, service_of
from rewarden_server.http.body import (
    SILENCE_S,
    check_content_type,
    encoding_of,
    pieces_of,
    read_body,
    unless_gone,
    until_gone,
)
from rewarden_server.http.declared import TEXT, Name, body, errors, listing, ref, reply
from rewarden_server.http.replies import JSON, NDJSON, ClientGone, UnsupportedMedia, json_reply
from rewarden_server.http.runs import parameter
from rewarden_server.intake.json_expansion import read_json
from rewarden_server.observe.logs import get_logger, log_defect
from rewarden_server.refusals import as_request_error
from rewarden_server.service import BOX_SCOPE

SURFACE = "http"
BYTES = "application/octet-stream"
TAR = "application/x-tar"


Number = Annotated[str, Path(json_schema_extra={"pattern": "^[1-9][0-9]{0,8}$"})]
FilePath = Annotated[
    str, Path(description="Absolute, or relative to the box's folder.", json_schema_extra={"minLength": 1})
]

_PLACE = parameter("path", TEXT, "Absolute, or relative to the working folder of the box, which is the default.")
_RAW = {"type": "string", "format": "binary"}

_log = get_logger("boxes")

router = APIRouter(dependencies=[needs(BOX_SCOPE)])


async def _desk(service: Served) -> Desk:
    caller = CURRENT.get()
    assert caller is not None  # no route of boxes is open
    return Desk(service, caller, SURFACE)


At = Annotated[Desk, Depends(_desk)]
"""The operations of the request's caller."""


async def _value(request: Request, *, empty: bool = False) -> Any:
    """Returns the JSON in a body. empty: no body is an empty object. Raises RequestError."""
    service = service_of(request)
    check_content_type(request, JSON)
    async with read_body(request, service.bodies, service.limits.max_run_bytes, "max_run_bytes") as content:
        if not content and not empty:
            raise InvalidRequest("the body is empty; send a JSON object")
        return read_json(content, service.limits) if content else {}


def _number(text: str) -> int:
    """Returns a program's number, or 0, which none has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _raw(request: Request) -> AsyncIterator[bytes]:
    """Yields a body of bytes. Raises UnsupportedMedia for one that is compressed, ClientGone, TooSlow."""
    if encoding_of(request) is not None:
        raise UnsupportedMedia("the bytes of files are sent without Content-Encoding")
    return pieces_of(request.receive, SILENCE_S)


def _query(request: Request) -> dict[str, Any]:
    return dict(request.query_params)


# --- boxes ---------------------------------------------------------------------------------------------------------


@router.post(
    "/v1/sessions",
    operation_id="open_box",
    summary="Open a box: a sandbox that lasts for one rollout.",
    status_code=201,
    responses={201: reply("The box.", ref("BoxInfo")), **errors(404, 409)},
    openapi_extra=body(ref("BoxRequest")),
)
async def open_box(request: Request, desk: At) -> Response:
    call = BoxCall(operation="open", value=await _value(request, empty=True))
    return json_reply(await unless_gone(request.receive, desk.open(call)), 201)


@router.get(
    "/v1/sessions",
    operation_id="list_boxes",
    summary="List the key's open boxes.",
    responses={200: reply("The boxes.", listing("boxes", ref("BoxInfo")))},
)
async def list_boxes(desk: At) -> Response:
    return json_reply(await desk.list(BoxCall(operation="list")))


@router.get(
    "/v1/sessions/{id}",
    operation_id="get_box",
    summary="Get a box's state and usage. 410 for ten minutes after its end, with the reason.",
    responses={200: reply("The box.", ref("BoxInfo")), **errors(404, 410)},
)
async def get_box(id: Name, desk: At) -> Response:
    return json_reply(await desk.get(BoxCall(operation="get", box=id)))


@router.delete(
    "/v1/sessions/{id}",
    operation_id="close_box",
    summary="Close a box. Everything that runs in it is killed.",
    status_code=204,
    response_description="The box is closed.",
    responses=errors(404),
)
async def close_box(id: Name, desk: At) -> Response:
    await desk.close(BoxCall(operation="close", box=id))
    return Response(status_code=204)


# --- programs ------------------------------------------------------------------------------------------------------


@router.post(
    "/v1/sessions/{id}/exec",
    operation_id="exec",
    summary="Run a program in a box. With `Accept: application/x-ndjson`, its output comes as it is written, in lines "
    '`{"begun"}`, `{"stdout"}`, `{"stderr"}`, and last `{"ended": ExecResult}` or an `Error`.',
    responses={
        200: {
            "description": "The end of the program.",
            "content": {JSON: {"schema": ref("ExecResult")}, NDJSON: {"schema": TEXT}},
        },
        202: reply("The program was started in the background.", ref("ExecStarted")),
        **errors(404, 410),
    },
    openapi_extra=body(ref("ExecRequest")),
)
async def exec_(id: Name, request: Request, desk: At) -> Response:
    desk.box(id, "exec")  # before the body is read
    call = BoxCall(operation="exec", box=id, value=await _value(request))
    if NDJSON in request.headers.get("accept", ""):
        return await Streamed.primed(_lines(desk.events(call)), NDJSON, lines=True)
    told = await unless_gone(request.receive, desk.exec(call))
    status = 200 if "status" in told else 202
    return Response(await asyncio.to_thread(dumps, told), status_code=status, media_type=JSON)


async def _lines(events: AsyncGenerator[Any, None]) -> AsyncGenerator[bytes, None]:
    async with contextlib.aclosing(events):
        async for event in events:
            yield _line(event)


def _line(value: Any) -> bytes:
    return dumps(value) + b"\n"


@router.get(
    "/v1/sessions/{id}/exec/{number}",
    operation_id="exec_progress",
    summary="Get the state and the kept output of a program in the background.",
    responses={200: reply("The output from `after` on.", ref("ExecProgress")), **errors(404, 410)},
    openapi_extra={
        "parameters": [
            parameter(
                "after", {"type": "integer", "minimum": 0}, "A position in the output: `next` of the last answer."
            ),
            parameter(
                "wait_s",
                {"type": "integer", "minimum": 0, "maximum": WAIT_S},
                "Seconds to wait for output or the end. Default: 0.",
            ),
        ]
    },
)
async def exec_progress(id: Name, number: Number, request: Request, desk: At) -> Response:
    call = BoxCall(operation="progress", box=id, number=_number(number), query=_query(request))
    return json_reply(await unless_gone(request.receive, desk.progress(call)))


@router.post(
    "/v1/sessions/{id}/exec/{number}/stdin",
    operation_id="exec_stdin",
    summary="Write the body to the input of a program that was started with `feed`.",
    status_code=204,
    response_description="The program's input has room for more.",
    responses=errors(404, 410),
    openapi_extra={
        **body(_RAW, BYTES),
        "parameters": [parameter("eof", {"enum": ["0", "1"]}, "1: close the input after it. Default: 0.")],
    },
)
async def exec_stdin(id: Name, number: Number, request: Request, desk: At) -> Response:
    call = BoxCall(operation="stdin", box=id, number=_number(number), query=_query(request), content=_raw(request))
    await desk.stdin(call)
    return Response(status_code=204)


@router.post(
    "/v1/sessions/{id}/exec/{number}/signal",
    operation_id="exec_signal",
    summary="Send a signal to a program and its process group.",
    status_code=204,
    response_description="The signal was sent.",
    responses=errors(404, 410),
    openapi_extra=body(
        {
            "type": "object",
            "properties": {
                "signal": {"anyOf": [TEXT, {"type": "integer"}], "description": "Such as `INT`, or its number."}
            },
            "required": ["signal"],
        }
    ),
)
async def exec_signal(id: Name, number: Number, request: Request, desk: At) -> Response:
    desk.box(id, "exec")
    value = request_of(dict[str, Any], await _value(request))
    await desk.signal(BoxCall(operation="signal", box=id, number=_number(number), value=value))
    return Response(status_code=204)


@router.delete(
    "/v1/sessions/{id}/exec/{number}",
    operation_id="exec_kill",
    summary="Kill a program, and forget its output.",
    status_code=204,
    response_description="The program has ended.",
    responses=errors(404, 410),
)
async def exec_kill(id: Name, number: Number, desk: At) -> Response:
    await desk.kill(BoxCall(operation="kill", box=id, number=_number(number)))
    return Response(status_code=204)


# --- notebooks -----------------------------------------------------------------------------------------------------


@router.post(
    "/v1/sessions/{id}/notebook",
    operation_id="start_notebook",
    summary="Start a notebook in a box: a living interpreter.",
    status_code=201,
    responses={201: reply("The notebook.", ref("NotebookInfo")), **errors(404, 410)},
    openapi_extra=body(ref("NotebookRequest")),
)
async def start_notebook(id: Name, request: Request, desk: At) -> Response:
    desk.box(id, "exec")
    call = BoxCall(operation="notebook", box=id, value=await _value(request, empty=True))
    return json_reply(await unless_gone(request.receive, desk.notebook(call)), 201)


@router.get(
    "/v1/sessions/{id}/notebook",
    operation_id="list_notebooks",
    summary="List the notebooks of a box.",
    responses={200: reply("The notebooks.", listing("notebooks", ref("NotebookInfo"))), **errors(404, 410)},
)
async def list_notebooks(id: Name, desk: At) -> Response:
    return json_reply(await desk.notebooks(BoxCall(operation="notebooks", box=id)))


@router.post(
    "/v1/sessions/{id}/notebook/{number}/run",
    operation_id="run_cell",
    summary="Run a cell. Cells of one notebook wait for each other. A client that disconnects interrupts its cell.",
    responses={200: reply("The end of the cell.", ref("CellResult")), **errors(404, 410)},
    openapi_extra=body(ref("CellRequest")),
)
async def run_cell(id: Name, number: Number, request: Request, desk: At) -> Response:
    desk.box(id, "exec")
    call = BoxCall(operation="cell", box=id, number=_number(number), value=await _value(request))
    told = await unless_gone(request.receive, desk.cell(call))
    return Response(await asyncio.to_thread(dumps, told), media_type=JSON)


@router.post(
    "/v1/sessions/{id}/notebook/{number}/interrupt",
    operation_id="interrupt_cell",
    summary="Interrupt the running cell; its result says so.",
    responses={200: reply("Whether a cell ran.", ref("CellInterrupted")), **errors(404, 410)},
)
async def interrupt_cell(id: Name, number: Number, desk: At) -> Response:
    return json_reply(await desk.interrupt(BoxCall(operation="interrupt", box=id, number=_number(number))))


@router.post(
    "/v1/sessions/{id}/notebook/{number}/restart",
    operation_id="restart_notebook",
    summary="Give a notebook a new kernel, which knows nothing of the cells before.",
    responses={200: reply("The notebook.", ref("NotebookInfo")), **errors(404, 410)},
)
async def restart_notebook(id: Name, number: Number, request: Request, desk: At) -> Response:
    call = BoxCall(operation="restart", box=id, number=_number(number))
    return json_reply(await unless_gone(request.receive, desk.restart(call)))


@router.get(
    "/v1/sessions/{id}/notebook/{number}/variables",
    operation_id="list_variables",
    summary="List the variables of a notebook, as its kernel lists them.",
    responses={200: reply("The variables.", listing("variables", ref("Variable"))), **errors(404, 410)},
)
async def list_variables(id: Name, number: Number, request: Request, desk: At) -> Response:
    call = BoxCall(operation="variables", box=id, number=_number(number))
    return json_reply(await unless_gone(request.receive, desk.variables(call)))


@router.delete(
    "/v1/sessions/{id}/notebook/{number}",
    operation_id="end_notebook",
    summary="End a notebook.",
    status_code=204,
    response_description="The notebook has ended.",
    responses=errors(404, 410),
)
async def end_notebook(id: Name, number: Number, desk: At) -> Response:
    await desk.end(BoxCall(operation="end", box=id, number=_number(number)))
    return Response(status_code=204)


# --- files ---------------------------------------------------------------------------------------------------------


@router.get(
    "/v1/sessions/{id}/files",
    operation_id="list_files",
    summary="List a folder.",
    responses={200: reply("Its entries.", listing("files", ref("BoxFile"))), **errors(404, 410, 413)},
    openapi_extra={
        "parameters": [
            _PLACE,
            parameter("depth", {"type": "integer", "minimum": 0, "maximum": DEPTH}, "Levels of folders. Default: 1."),
        ]
    },
)
async def list_files(id: Name, request: Request, desk: At) -> Response:
    return json_reply(await desk.files(BoxCall(operation="files", box=id, query=_query(request))))


@router.get(
    "/v1/sessions/{id}/files/{path:path}",
    operation_id="get_file",
    summary="Get a file's bytes.",
    responses={200: reply("The bytes.", _RAW, BYTES), **errors(404, 410)},
)
async def get_file(id: Name, path: FilePath, desk: At) -> Response:
    return await Streamed.primed(desk.read(BoxCall(operation="read", box=id, path=path)), BYTES)


@router.put(
    "/v1/sessions/{id}/files/{path:path}",
    operation_id="put_file",
    summary="Write a file. Missing folders are made.",
    status_code=204,
    response_description="The file is written.",
    responses=errors(404, 410),
    openapi_extra=body(_RAW, BYTES),
)
async def put_file(id: Name, path: FilePath, request: Request, desk: At) -> Response:
    await desk.write(BoxCall(operation="write", box=id, path=path, content=_raw(request)))
    return Response(status_code=204)


@router.delete(
    "/v1/sessions/{id}/files/{path:path}",
    operation_id="remove_file",
    summary="Remove a file, a link, or a whole folder.",
    status_code=204,
    response_description="It is removed.",
    responses=errors(404, 410),
)
async def remove_file(id: Name, path: FilePath, desk: At) -> Response:
    await desk.remove(BoxCall(operation="remove", box=id, path=path))
    return Response(status_code=204)


@router.get(
    "/v1/sessions/{id}/archive",
    operation_id="get_archive",
    summary="Get a folder as a tar archive.",
    responses={200: reply("The archive.", _RAW, TAR), **errors(404, 410)},
    openapi_extra={"parameters": [_PLACE]},
)
async def get_archive(id: Name, request: Request, desk: At) -> Response:
    return await Streamed.primed(desk.archive(BoxCall(operation="archive", box=id, query=_query(request))), TAR)


@router.put(
    "/v1/sessions/{id}/archive",
    operation_id="put_archive",
    summary="Extract a tar archive. Absolute names, `..` and devices are refused.",
    status_code=204,
    response_description="The archive is extracted.",
    responses=errors(404, 410),
    openapi_extra={**body(_RAW, BYTES), "parameters": [_PLACE]},
)
async def put_archive(id: Name, request: Request, desk: At) -> Response:
    await desk.extract(BoxCall(operation="extract", box=id, query=_query(request), content=_raw(request)))
    return Response(status_code=204)


# --- copies, leases, verdicts --------------------------------------------------------------------------------------


@router.post(
    "/v1/sessions/{id}/fork",
    operation_id="fork_box",
    summary="Open a copy of a box: its file system, without its processes.",
    status_code=201,
    responses={201: reply("The new box.", ref("BoxInfo")), **errors(404, 409, 410)},
    openapi_extra=body(ref("ForkRequest")),
)
async def fork_box(id: Name, request: Request, desk: At) -> Response:
    desk.box(id, "fork")
    call = BoxCall(operation="fork", box=id, value=await _value(request, empty=True))
    return json_reply(await unless_gone(request.receive, desk.fork(call)), 201)


@router.post(
    "/v1/sessions/{id}/snapshot",
    operation_id="snapshot_box",
    summary="Keep a copy of a box's file system on the server.",
    status_code=201,
    responses={201: reply("The snapshot.", ref("BoxSnapshot")), **errors(404, 410, 413, 507)},
    openapi_extra=body(ref("SnapshotRequest")),
)
async def snapshot_box(id: Name, request: Request, desk: At) -> Response:
    desk.box(id, "snapshot")
    call = BoxCall(operation="snapshot", box=id, value=await _value(request, empty=True))
    return json_reply(await unless_gone(request.receive, desk.snapshot(call)), 201)


@router.get(
    "/v1/snapshots",
    operation_id="list_snapshots",
    summary="List the key's snapshots.",
    responses={200: reply("The snapshots.", listing("snapshots", ref("BoxSnapshot")))},
)
async def list_snapshots(desk: At) -> Response:
    return json_reply(await desk.snapshots(BoxCall(operation="snapshots")))


@router.delete(
    "/v1/snapshots/{id}",
    operation_id="delete_snapshot",
    summary="Delete a snapshot.",
    status_code=204,
    response_description="The snapshot is deleted.",
    responses=errors(404),
)
async def delete_snapshot(id: Name, desk: At) -> Response:
    await desk.forget(BoxCall(operation="forget", box=id))
    return Response(status_code=204)


@router.post(
    "/v1/sessions/{id}/lease",
    operation_id="lease_box",
    summary="Sign a lease: a permission to use the box without a key, with some rights and for some time.",
    status_code=201,
    responses={201: reply("The lease.", ref("BoxLease")), **errors(404, 410)},
    openapi_extra=body(ref("LeaseRequest")),
)
async def lease_box(id: Name, request: Request, desk: At) -> Response:
    desk.box(id, "read")
    return json_reply(await desk.lease(BoxCall(operation="lease", box=id, value=await _value(request))), 201)


@router.post(
    "/v1/sessions/{id}/step",
    operation_id="begin_step",
    summary="Begin a step of the box's task: lay its files into the working folder, and run its setup.sh.",
    responses={200: reply("The step.", ref("StepBegun")), **errors(404, 410)},
    openapi_extra=body(ref("StepRequest")),
)
async def begin_step(id: Name, request: Request, desk: At) -> Response:
    desk.box(id, "score")
    call = BoxCall(operation="step", box=id, value=await _value(request))
    return json_reply(await unless_gone(request.receive, desk.step(call)))


@router.post(
    "/v1/sessions/{id}/score",
    operation_id="score_box",
    summary="Judge a text, or a file in the box, as a response.",
    responses={200: reply("The verdict.", ref("Verdict")), **errors(404, 409, 410)},
    openapi_extra=body(ref("ScoreRequest")),
)
async def score_box(id: Name, request: Request, desk: At) -> Response:
    desk.box(id, "score")
    call = BoxCall(operation="score", box=id, value=await _value(request))
    return json_reply(await unless_gone(request.receive, desk.score(call)))


# --- streams -------------------------------------------------------------------------------------------------------


class Streamed(Response):
    """A response that is sent as it is made, and ends if the client disconnects. lines: an error in the middle is a
    last line; otherwise the connection breaks, so that what was sent does not look complete. HTTP/1.0 has no such
    sign: there, what is not in lines is refused."""

    def __init__(self, first: bytes, rest: AsyncGenerator[bytes, None], media: str, *, lines: bool) -> None:
        super().__init__(media_type=media)
        self._first = first
        self._rest = rest
        self._lines = lines

    @classmethod
    async def primed(cls, pieces: AsyncGenerator[bytes, None], media: str, *, lines: bool = False) -> Streamed:
        """Returns the response once its first piece is there. Raises the errors that come before it."""
        return cls(await anext(pieces, b""), pieces, media, lines=lines)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends the response. Raises ClientGone, InvalidRequest."""
        if not self._lines and scope["http_version"] == "1.0":
            # Proxies that speak HTTP/1.0 to a server pass on half an archive as a whole one.
            await self._rest.aclose()
            raise InvalidRequest("with HTTP/1.0, bytes that break off look complete; use HTTP/1.1 (docs/boxes.md)")
        sending = asyncio.ensure_future(self._send_all(send))
        gone = asyncio.ensure_future(until_gone(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not sending.done():
                raise ClientGone
            sending.result()
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)
            await self._rest.aclose()

    async def _send_all(self, send: Send) -> None:
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for piece in self._guarded():
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _guarded(self) -> AsyncIterator[bytes]:
        try:
            yield self._first
            async for piece in self._rest:
                yield piece
        except Exception as error:
            if not self._lines:
                raise
            known = as_request_error(error)
            if isinstance(known, InternalError):
                log_defect(_log, error)
            yield _line(error_to_json(known))
