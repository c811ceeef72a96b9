from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BoxBytes(_message.Message):
    __slots__ = ["data"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    def __init__(self, data: _Optional[bytes] = ...) -> None: ...

class BoxCall(_message.Message):
    __slots__ = ["box", "number", "path", "query_json", "request_json"]
    BOX_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    QUERY_JSON_FIELD_NUMBER: _ClassVar[int]
    REQUEST_JSON_FIELD_NUMBER: _ClassVar[int]
    box: str
    number: int
    path: str
    query_json: str
    request_json: str
    def __init__(self, box: _Optional[str] = ..., path: _Optional[str] = ..., number: _Optional[int] = ..., request_json: _Optional[str] = ..., query_json: _Optional[str] = ...) -> None: ...

class BoxInput(_message.Message):
    __slots__ = ["call", "data"]
    CALL_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    call: BoxCall
    data: bytes
    def __init__(self, call: _Optional[_Union[BoxCall, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...

class BoxReply(_message.Message):
    __slots__ = ["reply_json"]
    REPLY_JSON_FIELD_NUMBER: _ClassVar[int]
    reply_json: str
    def __init__(self, reply_json: _Optional[str] = ...) -> None: ...

class Component(_message.Message):
    __slots__ = ["fault", "reason", "score", "status", "verifier"]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_FIELD_NUMBER: _ClassVar[int]
    fault: str
    reason: str
    score: float
    status: str
    verifier: str
    def __init__(self, status: _Optional[str] = ..., score: _Optional[float] = ..., reason: _Optional[str] = ..., fault: _Optional[str] = ..., verifier: _Optional[str] = ...) -> None: ...

class Content(_message.Message):
    __slots__ = ["data", "text"]
    DATA_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    text: str
    def __init__(self, text: _Optional[str] = ..., data: _Optional[bytes] = ...) -> None: ...

class Fields(_message.Message):
    __slots__ = ["names"]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ["all_fail", "all_pass", "best", "ddof", "group", "mean", "pass_at", "passed", "scored", "size", "std", "unscored"]
    class PassAtEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: int
        value: float
        def __init__(self, key: _Optional[int] = ..., value: _Optional[float] = ...) -> None: ...
    ALL_FAIL_FIELD_NUMBER: _ClassVar[int]
    ALL_PASS_FIELD_NUMBER: _ClassVar[int]
    BEST_FIELD_NUMBER: _ClassVar[int]
    DDOF_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    PASS_AT_FIELD_NUMBER: _ClassVar[int]
    SCORED_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    STD_FIELD_NUMBER: _ClassVar[int]
    UNSCORED_FIELD_NUMBER: _ClassVar[int]
    all_fail: bool
    all_pass: bool
    best: float
    ddof: int
    group: str
    mean: float
    pass_at: _containers.ScalarMap[int, float]
    passed: int
    scored: int
    size: int
    std: float
    unscored: int
    def __init__(self, group: _Optional[str] = ..., size: _Optional[int] = ..., scored: _Optional[int] = ..., unscored: _Optional[int] = ..., passed: _Optional[int] = ..., mean: _Optional[float] = ..., std: _Optional[float] = ..., ddof: _Optional[int] = ..., best: _Optional[float] = ..., all_pass: bool = ..., all_fail: bool = ..., pass_at: _Optional[_Mapping[int, float]] = ...) -> None: ...

class Header(_message.Message):
    __slots__ = ["deadline_s", "expect", "fields", "group_deadline_s", "progress", "shared_json", "use"]
    class ExpectEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class SharedJsonEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    DEADLINE_S_FIELD_NUMBER: _ClassVar[int]
    EXPECT_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    GROUP_DEADLINE_S_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    SHARED_JSON_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    deadline_s: float
    expect: _containers.ScalarMap[str, str]
    fields: Fields
    group_deadline_s: float
    progress: Progress
    shared_json: _containers.ScalarMap[str, str]
    use: Use
    def __init__(self, use: _Optional[_Union[Use, _Mapping]] = ..., shared_json: _Optional[_Mapping[str, str]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ..., deadline_s: _Optional[float] = ..., group_deadline_s: _Optional[float] = ..., expect: _Optional[_Mapping[str, str]] = ..., fields: _Optional[_Union[Fields, _Mapping]] = ...) -> None: ...

class InfoReply(_message.Message):
    __slots__ = ["info_json"]
    INFO_JSON_FIELD_NUMBER: _ClassVar[int]
    info_json: str
    def __init__(self, info_json: _Optional[str] = ...) -> None: ...

class InfoRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

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

class ListVerifiersReply(_message.Message):
    __slots__ = ["verifiers"]
    VERIFIERS_FIELD_NUMBER: _ClassVar[int]
    verifiers: _containers.RepeatedCompositeFieldContainer[VerifierInfo]
    def __init__(self, verifiers: _Optional[_Iterable[_Union[VerifierInfo, _Mapping]]] = ...) -> None: ...

class ListVerifiersRequest(_message.Message):
    __slots__ = ["name"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class Media(_message.Message):
    __slots__ = ["base64", "blob", "id", "mime", "url"]
    BASE64_FIELD_NUMBER: _ClassVar[int]
    BLOB_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    MIME_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    base64: str
    blob: str
    id: str
    mime: str
    url: str
    def __init__(self, id: _Optional[str] = ..., mime: _Optional[str] = ..., url: _Optional[str] = ..., blob: _Optional[str] = ..., base64: _Optional[str] = ...) -> None: ...

class MediaList(_message.Message):
    __slots__ = ["items"]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Media]
    def __init__(self, items: _Optional[_Iterable[_Union[Media, _Mapping]]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ["step", "total_steps"]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TOTAL_STEPS_FIELD_NUMBER: _ClassVar[int]
    step: int
    total_steps: int
    def __init__(self, step: _Optional[int] = ..., total_steps: _Optional[int] = ...) -> None: ...

class Range(_message.Message):
    __slots__ = ["high", "low"]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    high: float
    low: float
    def __init__(self, low: _Optional[float] = ..., high: _Optional[float] = ...) -> None: ...

class RunReply(_message.Message):
    __slots__ = ["compile", "cpu_time", "enforced", "exit_code", "files", "flags", "limit", "message", "peak_memory", "signal", "status", "stderr", "stderr_bytes", "stdout", "stdout_bytes", "truncated", "wall_time"]
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
        value: Content
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Content, _Mapping]] = ...) -> None: ...
    COMPILE_FIELD_NUMBER: _ClassVar[int]
    CPU_TIME_FIELD_NUMBER: _ClassVar[int]
    ENFORCED_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PEAK_MEMORY_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STDERR_BYTES_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    STDOUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    WALL_TIME_FIELD_NUMBER: _ClassVar[int]
    compile: RunReply
    cpu_time: float
    enforced: _containers.ScalarMap[str, str]
    exit_code: int
    files: _containers.MessageMap[str, Content]
    flags: _containers.RepeatedScalarFieldContainer[str]
    limit: str
    message: str
    peak_memory: int
    signal: int
    status: str
    stderr: str
    stderr_bytes: bytes
    stdout: str
    stdout_bytes: bytes
    truncated: bool
    wall_time: float
    def __init__(self, status: _Optional[str] = ..., limit: _Optional[str] = ..., exit_code: _Optional[int] = ..., signal: _Optional[int] = ..., stdout: _Optional[str] = ..., stderr: _Optional[str] = ..., stdout_bytes: _Optional[bytes] = ..., stderr_bytes: _Optional[bytes] = ..., cpu_time: _Optional[float] = ..., wall_time: _Optional[float] = ..., peak_memory: _Optional[int] = ..., truncated: bool = ..., enforced: _Optional[_Mapping[str, str]] = ..., flags: _Optional[_Iterable[str]] = ..., message: _Optional[str] = ..., compile: _Optional[_Union[RunReply, _Mapping]] = ..., files: _Optional[_Mapping[str, Content]] = ...) -> None: ...

class RunRequest(_message.Message):
    __slots__ = ["args", "code", "collect", "files", "language", "limits", "stdin"]
    class FilesEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Content
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Content, _Mapping]] = ...) -> None: ...
    ARGS_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    COLLECT_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    LANGUAGE_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    args: _containers.RepeatedScalarFieldContainer[str]
    code: str
    collect: _containers.RepeatedScalarFieldContainer[str]
    files: _containers.MessageMap[str, Content]
    language: str
    limits: Limits
    stdin: Content
    def __init__(self, language: _Optional[str] = ..., code: _Optional[str] = ..., stdin: _Optional[_Union[Content, _Mapping]] = ..., files: _Optional[_Mapping[str, Content]] = ..., args: _Optional[_Iterable[str]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ..., collect: _Optional[_Iterable[str]] = ...) -> None: ...

class Sample(_message.Message):
    __slots__ = ["data_source", "finish_reason", "group", "group_size", "id", "media", "metadata_json", "prompt", "prompt_key", "reference_json", "reference_key", "response", "signals_json", "steps", "token_count", "use"]
    DATA_SOURCE_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASON_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    GROUP_SIZE_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    MEDIA_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    PROMPT_FIELD_NUMBER: _ClassVar[int]
    PROMPT_KEY_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_JSON_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_KEY_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    SIGNALS_JSON_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    TOKEN_COUNT_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    data_source: str
    finish_reason: str
    group: str
    group_size: int
    id: str
    media: MediaList
    metadata_json: str
    prompt: Text
    prompt_key: str
    reference_json: str
    reference_key: str
    response: Text
    signals_json: str
    steps: Steps
    token_count: int
    use: Use
    def __init__(self, response: _Optional[_Union[Text, _Mapping]] = ..., id: _Optional[str] = ..., prompt: _Optional[_Union[Text, _Mapping]] = ..., prompt_key: _Optional[str] = ..., reference_json: _Optional[str] = ..., reference_key: _Optional[str] = ..., use: _Optional[_Union[Use, _Mapping]] = ..., group: _Optional[str] = ..., group_size: _Optional[int] = ..., data_source: _Optional[str] = ..., finish_reason: _Optional[str] = ..., token_count: _Optional[int] = ..., steps: _Optional[_Union[Steps, _Mapping]] = ..., media: _Optional[_Union[MediaList, _Mapping]] = ..., signals_json: _Optional[str] = ..., metadata_json: _Optional[str] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ["end", "kind", "message", "start"]
    END_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    end: int
    kind: str
    message: int
    start: int
    def __init__(self, message: _Optional[int] = ..., start: _Optional[int] = ..., end: _Optional[int] = ..., kind: _Optional[str] = ...) -> None: ...

class StepScore(_message.Message):
    __slots__ = ["feedback", "index", "label", "score"]
    FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    feedback: str
    index: int
    label: str
    score: float
    def __init__(self, index: _Optional[int] = ..., score: _Optional[float] = ..., label: _Optional[str] = ..., feedback: _Optional[str] = ...) -> None: ...

class Steps(_message.Message):
    __slots__ = ["items"]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Step]
    def __init__(self, items: _Optional[_Iterable[_Union[Step, _Mapping]]] = ...) -> None: ...

class Text(_message.Message):
    __slots__ = ["messages_json", "text"]
    MESSAGES_JSON_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    messages_json: str
    text: str
    def __init__(self, text: _Optional[str] = ..., messages_json: _Optional[str] = ...) -> None: ...

class Use(_message.Message):
    __slots__ = ["name", "params_json", "recipe_json"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARAMS_JSON_FIELD_NUMBER: _ClassVar[int]
    RECIPE_JSON_FIELD_NUMBER: _ClassVar[int]
    name: str
    params_json: str
    recipe_json: str
    def __init__(self, name: _Optional[str] = ..., params_json: _Optional[str] = ..., recipe_json: _Optional[str] = ...) -> None: ...

class Verdict(_message.Message):
    __slots__ = ["cached", "components", "data_source", "effective_json", "evidence_json", "exclude", "exclude_reason", "extracted_json", "fault", "feedback", "flags", "group", "id", "index", "metadata_json", "passed", "queue_s", "range", "raw_json", "reason", "retryable", "run_s", "score", "status", "steps", "verifier"]
    class ComponentsEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: Component
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[Component, _Mapping]] = ...) -> None: ...
    CACHED_FIELD_NUMBER: _ClassVar[int]
    COMPONENTS_FIELD_NUMBER: _ClassVar[int]
    DATA_SOURCE_FIELD_NUMBER: _ClassVar[int]
    EFFECTIVE_JSON_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_JSON_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_REASON_FIELD_NUMBER: _ClassVar[int]
    EXTRACTED_JSON_FIELD_NUMBER: _ClassVar[int]
    FAULT_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    METADATA_JSON_FIELD_NUMBER: _ClassVar[int]
    PASSED_FIELD_NUMBER: _ClassVar[int]
    QUEUE_S_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    RAW_JSON_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RETRYABLE_FIELD_NUMBER: _ClassVar[int]
    RUN_S_FIELD_NUMBER: _ClassVar[int]
    SCORE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_FIELD_NUMBER: _ClassVar[int]
    cached: bool
    components: _containers.MessageMap[str, Component]
    data_source: str
    effective_json: str
    evidence_json: str
    exclude: bool
    exclude_reason: str
    extracted_json: str
    fault: str
    feedback: str
    flags: _containers.RepeatedScalarFieldContainer[str]
    group: str
    id: str
    index: int
    metadata_json: str
    passed: bool
    queue_s: float
    range: Range
    raw_json: str
    reason: str
    retryable: bool
    run_s: float
    score: float
    status: str
    steps: _containers.RepeatedCompositeFieldContainer[StepScore]
    verifier: VerifierRef
    def __init__(self, index: _Optional[int] = ..., id: _Optional[str] = ..., status: _Optional[str] = ..., score: _Optional[float] = ..., range: _Optional[_Union[Range, _Mapping]] = ..., passed: bool = ..., raw_json: _Optional[str] = ..., reason: _Optional[str] = ..., fault: _Optional[str] = ..., components: _Optional[_Mapping[str, Component]] = ..., steps: _Optional[_Iterable[_Union[StepScore, _Mapping]]] = ..., feedback: _Optional[str] = ..., extracted_json: _Optional[str] = ..., evidence_json: _Optional[str] = ..., flags: _Optional[_Iterable[str]] = ..., effective_json: _Optional[str] = ..., exclude: bool = ..., exclude_reason: _Optional[str] = ..., group: _Optional[str] = ..., data_source: _Optional[str] = ..., metadata_json: _Optional[str] = ..., verifier: _Optional[_Union[VerifierRef, _Mapping]] = ..., retryable: bool = ..., cached: bool = ..., queue_s: _Optional[float] = ..., run_s: _Optional[float] = ...) -> None: ...

class VerifierInfo(_message.Message):
    __slots__ = ["info_json", "name"]
    INFO_JSON_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    info_json: str
    name: str
    def __init__(self, name: _Optional[str] = ..., info_json: _Optional[str] = ...) -> None: ...

class VerifierRef(_message.Message):
    __slots__ = ["fingerprint", "name", "version"]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    fingerprint: str
    name: str
    version: str
    def __init__(self, name: _Optional[str] = ..., version: _Optional[str] = ..., fingerprint: _Optional[str] = ...) -> None: ...

class VerifyReply(_message.Message):
    __slots__ = ["groups", "verdicts"]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    groups: _containers.RepeatedCompositeFieldContainer[Group]
    verdicts: _containers.RepeatedCompositeFieldContainer[Verdict]
    def __init__(self, verdicts: _Optional[_Iterable[_Union[Verdict, _Mapping]]] = ..., groups: _Optional[_Iterable[_Union[Group, _Mapping]]] = ...) -> None: ...

class VerifyRequest(_message.Message):
    __slots__ = ["header", "samples"]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    header: Header
    samples: _containers.RepeatedCompositeFieldContainer[Sample]
    def __init__(self, header: _Optional[_Union[Header, _Mapping]] = ..., samples: _Optional[_Iterable[_Union[Sample, _Mapping]]] = ...) -> None: ...

class VerifyStreamReply(_message.Message):
    __slots__ = ["group", "groups", "most_samples", "verdict", "verdicts"]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MOST_SAMPLES_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    group: Group
    groups: _containers.RepeatedCompositeFieldContainer[Group]
    most_samples: int
    verdict: Verdict
    verdicts: _containers.RepeatedCompositeFieldContainer[Verdict]
    def __init__(self, verdict: _Optional[_Union[Verdict, _Mapping]] = ..., group: _Optional[_Union[Group, _Mapping]] = ..., verdicts: _Optional[_Iterable[_Union[Verdict, _Mapping]]] = ..., groups: _Optional[_Iterable[_Union[Group, _Mapping]]] = ..., most_samples: _Optional[int] = ...) -> None: ...

class VerifyStreamRequest(_message.Message):
    __slots__ = ["header", "many", "sample", "samples"]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    MANY_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_FIELD_NUMBER: _ClassVar[int]
    header: Header
    many: bool
    sample: Sample
    samples: _containers.RepeatedCompositeFieldContainer[Sample]
    def __init__(self, header: _Optional[_Union[Header, _Mapping]] = ..., sample: _Optional[_Union[Sample, _Mapping]] = ..., samples: _Optional[_Iterable[_Union[Sample, _Mapping]]] = ..., many: bool = ...) -> None: ...
