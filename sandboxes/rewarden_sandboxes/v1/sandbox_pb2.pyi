from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Answer(_message.Message):
    __slots__ = ["begun", "clock", "data", "errors", "event", "id", "last", "opened", "refusal", "report", "still", "taken"]
    BEGUN_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    ERRORS_FIELD_NUMBER: _ClassVar[int]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    STILL_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    begun: bool
    clock: Clock
    data: bytes
    errors: bytes
    event: JobEvent
    id: int
    last: bool
    opened: Opened
    refusal: Refusal
    report: Report
    still: bool
    taken: int
    def __init__(self, id: _Optional[int] = ..., event: _Optional[_Union[JobEvent, _Mapping]] = ..., refusal: _Optional[_Union[Refusal, _Mapping]] = ..., begun: bool = ..., data: _Optional[bytes] = ..., taken: _Optional[int] = ..., clock: _Optional[_Union[Clock, _Mapping]] = ..., report: _Optional[_Union[Report, _Mapping]] = ..., opened: _Optional[_Union[Opened, _Mapping]] = ..., errors: _Optional[bytes] = ..., still: bool = ..., last: bool = ...) -> None: ...

class Box(_message.Message):
    __slots__ = ["env", "image", "label", "limits", "network", "patience_s"]
    class EnvEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ENV_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    PATIENCE_S_FIELD_NUMBER: _ClassVar[int]
    env: _containers.ScalarMap[str, str]
    image: str
    label: str
    limits: Limits
    network: _containers.RepeatedScalarFieldContainer[str]
    patience_s: float
    def __init__(self, image: _Optional[str] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., env: _Optional[_Mapping[str, str]] = ..., patience_s: _Optional[float] = ..., network: _Optional[_Iterable[str]] = ..., label: _Optional[str] = ...) -> None: ...

class Case(_message.Message):
    __slots__ = ["args", "files", "limits", "partner_args", "partner_files", "partner_request", "partner_stdin", "request", "stdin"]
    class FilesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    class PartnerFilesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    ARGS_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    PARTNER_ARGS_FIELD_NUMBER: _ClassVar[int]
    PARTNER_FILES_FIELD_NUMBER: _ClassVar[int]
    PARTNER_REQUEST_FIELD_NUMBER: _ClassVar[int]
    PARTNER_STDIN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    args: _containers.RepeatedScalarFieldContainer[str]
    files: _containers.ScalarMap[str, bytes]
    limits: Limits
    partner_args: _containers.RepeatedScalarFieldContainer[str]
    partner_files: _containers.ScalarMap[str, bytes]
    partner_request: bytes
    partner_stdin: bytes
    request: bytes
    stdin: bytes
    def __init__(self, stdin: _Optional[bytes] = ..., request: _Optional[bytes] = ..., files: _Optional[_Mapping[str, bytes]] = ..., args: _Optional[_Iterable[str]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., partner_stdin: _Optional[bytes] = ..., partner_request: _Optional[bytes] = ..., partner_files: _Optional[_Mapping[str, bytes]] = ..., partner_args: _Optional[_Iterable[str]] = ...) -> None: ...

class CaseResult(_message.Message):
    __slots__ = ["earlier", "index", "partner", "program"]
    EARLIER_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    PARTNER_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    earlier: _containers.RepeatedCompositeFieldContainer[CaseResult]
    index: int
    partner: Report
    program: Report
    def __init__(self, index: _Optional[int] = ..., program: _Optional[_Union[Report, _Mapping]] = ..., partner: _Optional[_Union[Report, _Mapping]] = ..., earlier: _Optional[_Iterable[_Union[CaseResult, _Mapping]]] = ...) -> None: ...

class Clock(_message.Message):
    __slots__ = ["cpu_s", "disk", "idle_s", "memory", "processes", "refused", "unserved"]
    CPU_S_FIELD_NUMBER: _ClassVar[int]
    DISK_FIELD_NUMBER: _ClassVar[int]
    IDLE_S_FIELD_NUMBER: _ClassVar[int]
    MEMORY_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    UNSERVED_FIELD_NUMBER: _ClassVar[int]
    cpu_s: float
    disk: int
    idle_s: float
    memory: int
    processes: int
    refused: _containers.RepeatedScalarFieldContainer[str]
    unserved: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cpu_s: _Optional[float] = ..., idle_s: _Optional[float] = ..., memory: _Optional[int] = ..., disk: _Optional[int] = ..., processes: _Optional[int] = ..., unserved: _Optional[_Iterable[str]] = ..., refused: _Optional[_Iterable[str]] = ...) -> None: ...

class CompileResult(_message.Message):
    __slots__ = ["report", "who"]
    REPORT_FIELD_NUMBER: _ClassVar[int]
    WHO_FIELD_NUMBER: _ClassVar[int]
    report: Report
    who: str
    def __init__(self, who: _Optional[str] = ..., report: _Optional[_Union[Report, _Mapping]] = ...) -> None: ...

class Exec(_message.Message):
    __slots__ = ["argv", "box", "cwd", "env", "files", "limits", "program", "stdin"]
    class EnvEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ARGV_FIELD_NUMBER: _ClassVar[int]
    BOX_FIELD_NUMBER: _ClassVar[int]
    CWD_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    argv: _containers.RepeatedScalarFieldContainer[str]
    box: int
    cwd: str
    env: _containers.ScalarMap[str, str]
    files: Files
    limits: Limits
    program: Program
    stdin: bool
    def __init__(self, box: _Optional[int] = ..., argv: _Optional[_Iterable[str]] = ..., program: _Optional[_Union[Program, _Mapping]] = ..., files: _Optional[_Union[Files, _Mapping]] = ..., stdin: bool = ..., cwd: _Optional[str] = ..., env: _Optional[_Mapping[str, str]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ...) -> None: ...

class Files(_message.Message):
    __slots__ = ["depth", "mode", "path", "work"]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    WORK_FIELD_NUMBER: _ClassVar[int]
    depth: int
    mode: int
    path: str
    work: str
    def __init__(self, work: _Optional[str] = ..., path: _Optional[str] = ..., depth: _Optional[int] = ..., mode: _Optional[int] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ["cases", "collect", "compile_limits", "join", "once", "partner", "patience_s", "program", "rejecting"]
    CASES_FIELD_NUMBER: _ClassVar[int]
    COLLECT_FIELD_NUMBER: _ClassVar[int]
    COMPILE_LIMITS_FIELD_NUMBER: _ClassVar[int]
    JOIN_FIELD_NUMBER: _ClassVar[int]
    ONCE_FIELD_NUMBER: _ClassVar[int]
    PARTNER_FIELD_NUMBER: _ClassVar[int]
    PATIENCE_S_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    REJECTING_FIELD_NUMBER: _ClassVar[int]
    cases: _containers.RepeatedCompositeFieldContainer[Case]
    collect: _containers.RepeatedScalarFieldContainer[str]
    compile_limits: Limits
    join: str
    once: bool
    partner: Program
    patience_s: float
    program: Program
    rejecting: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, program: _Optional[_Union[Program, _Mapping]] = ..., partner: _Optional[_Union[Program, _Mapping]] = ..., join: _Optional[str] = ..., cases: _Optional[_Iterable[_Union[Case, _Mapping]]] = ..., compile_limits: _Optional[_Union[Limits, _Mapping]] = ..., collect: _Optional[_Iterable[str]] = ..., patience_s: _Optional[float] = ..., rejecting: _Optional[_Iterable[int]] = ..., once: bool = ...) -> None: ...

class JobEvent(_message.Message):
    __slots__ = ["case", "compile"]
    CASE_FIELD_NUMBER: _ClassVar[int]
    COMPILE_FIELD_NUMBER: _ClassVar[int]
    case: CaseResult
    compile: CompileResult
    def __init__(self, compile: _Optional[_Union[CompileResult, _Mapping]] = ..., case: _Optional[_Union[CaseResult, _Mapping]] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ["cpu_s", "disk_mb", "memory_mb", "open_files", "output_bytes", "processes", "wall_s"]
    CPU_S_FIELD_NUMBER: _ClassVar[int]
    DISK_MB_FIELD_NUMBER: _ClassVar[int]
    MEMORY_MB_FIELD_NUMBER: _ClassVar[int]
    OPEN_FILES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    WALL_S_FIELD_NUMBER: _ClassVar[int]
    cpu_s: float
    disk_mb: int
    memory_mb: int
    open_files: int
    output_bytes: int
    processes: int
    wall_s: float
    def __init__(self, cpu_s: _Optional[float] = ..., wall_s: _Optional[float] = ..., memory_mb: _Optional[int] = ..., processes: _Optional[int] = ..., output_bytes: _Optional[int] = ..., disk_mb: _Optional[int] = ..., open_files: _Optional[int] = ...) -> None: ...

class Opened(_message.Message):
    __slots__ = ["enforced", "folder", "image", "limits"]
    class EnforcedEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ENFORCED_FIELD_NUMBER: _ClassVar[int]
    FOLDER_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    enforced: _containers.ScalarMap[str, str]
    folder: str
    image: str
    limits: Limits
    def __init__(self, image: _Optional[str] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., enforced: _Optional[_Mapping[str, str]] = ..., folder: _Optional[str] = ...) -> None: ...

class Order(_message.Message):
    __slots__ = ["box", "cancel", "clock", "data", "eof", "exec", "id", "job", "session", "signal", "still", "taken"]
    BOX_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    CLOCK_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    EOF_FIELD_NUMBER: _ClassVar[int]
    EXEC_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    STILL_FIELD_NUMBER: _ClassVar[int]
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    box: Box
    cancel: bool
    clock: bool
    data: bytes
    eof: bool
    exec: Exec
    id: int
    job: Job
    session: Session
    signal: Signal
    still: bool
    taken: int
    def __init__(self, id: _Optional[int] = ..., job: _Optional[_Union[Job, _Mapping]] = ..., cancel: bool = ..., session: _Optional[_Union[Session, _Mapping]] = ..., data: _Optional[bytes] = ..., taken: _Optional[int] = ..., clock: bool = ..., box: _Optional[_Union[Box, _Mapping]] = ..., exec: _Optional[_Union[Exec, _Mapping]] = ..., eof: bool = ..., signal: _Optional[_Union[Signal, _Mapping]] = ..., still: bool = ...) -> None: ...

class Program(_message.Message):
    __slots__ = ["args", "code", "files", "flags", "language", "limits", "min_version", "mode"]
    class FilesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    ARGS_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    MIN_VERSION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    args: _containers.RepeatedScalarFieldContainer[str]
    code: bytes
    files: _containers.ScalarMap[str, bytes]
    flags: _containers.RepeatedScalarFieldContainer[str]
    language: str
    limits: Limits
    min_version: str
    mode: str
    def __init__(self, language: _Optional[str] = ..., code: _Optional[bytes] = ..., files: _Optional[_Mapping[str, bytes]] = ..., args: _Optional[_Iterable[str]] = ..., mode: _Optional[str] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., min_version: _Optional[str] = ..., flags: _Optional[_Iterable[str]] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ["kind", "message", "path"]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    kind: str
    message: str
    path: str
    def __init__(self, kind: _Optional[str] = ..., message: _Optional[str] = ..., path: _Optional[str] = ...) -> None: ...

class Report(_message.Message):
    __slots__ = ["cpu_time", "enforced", "exit_code", "files", "flags", "idle_time", "limit", "message", "peak_memory", "reply", "signal", "status", "stderr", "stdout", "truncated", "wall_time"]
    class EnforcedEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class FilesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    CPU_TIME_FIELD_NUMBER: _ClassVar[int]
    ENFORCED_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIME_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PEAK_MEMORY_FIELD_NUMBER: _ClassVar[int]
    REPLY_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_FIELD_NUMBER: _ClassVar[int]
    cpu_time: float
    enforced: _containers.ScalarMap[str, str]
    exit_code: int
    files: _containers.ScalarMap[str, bytes]
    flags: _containers.RepeatedScalarFieldContainer[str]
    idle_time: float
    limit: str
    message: str
    peak_memory: int
    reply: bytes
    signal: int
    status: str
    stderr: bytes
    stdout: bytes
    truncated: bool
    wall_time: float
    def __init__(self, status: _Optional[str] = ..., limit: _Optional[str] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., stdout: _Optional[bytes] = ..., stderr: _Optional[bytes] = ..., reply: _Optional[bytes] = ..., cpu_time: _Optional[float] = ..., wall_time: _Optional[float] = ..., idle_time: _Optional[float] = ..., peak_memory: _Optional[int] = ..., truncated: bool = ..., files: _Optional[_Mapping[str, bytes]] = ..., enforced: _Optional[_Mapping[str, str]] = ..., flags: _Optional[_Iterable[str]] = ..., message: _Optional[str] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ["patience_s", "program"]
    PATIENCE_S_FIELD_NUMBER: _ClassVar[int]
    PROGRAM_FIELD_NUMBER: _ClassVar[int]
    patience_s: float
    program: Program
    def __init__(self, program: _Optional[_Union[Program, _Mapping]] = ..., patience_s: _Optional[float] = ...) -> None: ...

class Signal(_message.Message):
    __slots__ = ["group", "number"]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    group: bool
    number: int
    def __init__(self, number: _Optional[int] = ..., group: bool = ...) -> None: ...

class StatusReply(_message.Message):
    __slots__ = ["status_json"]
    STATUS_JSON_FIELD_NUMBER: _ClassVar[int]
    status_json: str
    def __init__(self, status_json: _Optional[str] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ["probe"]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    probe: bool
    def __init__(self, probe: bool = ...) -> None: ...
