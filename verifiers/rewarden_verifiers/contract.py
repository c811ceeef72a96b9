"""The contract: a verifier is a function, and its signature says what it reads.

    @verifier(version="1", graded=True)
    def atom_count(response: str, reference: int, params: Params) -> Outcome: ...

Argument names are the contract. Only what is named is passed, and only that, with the effective parameters, is the
cache key:

    response   str              the viewed response (see `view`)
    messages   Text             the whole response as it was sent: text, or chat messages with tools' results among them
    prompt     str              the prompt, messages joined
    reference  as annotated     the expected answer, validated against its annotation
    prepared   what `prepare(reference, params)` returned: parsed once per distinct reference, kept by the worker
    params     as annotated     a frozen dataclass with defaults, validated
    steps, media, signals, metadata, progress, finish_reason, token_count, data_source: as in `Sample` and `Batch`
    sample     Sample           everything (orchestrators only)
    samples    list[Member]     a group verifier: an outcome (or a SampleError) per member is returned, in order
    ctx        Context          orchestrators only
    resources  as declared      what the server's configuration provides (`sql`: its databases); `prepare` may read it
    watch      Watch            kills the process if a call does not return (`blocking=True`); `prepare` may read it

`def` is pure: it runs where it can be killed (`inline=True`, for built-ins that are provably cheap, on a thread of the
server). A pure verifier that must wait for something outside, such as a database's server, declares `blocking=True`: it
then runs in separate workers, where waiting delays no other work, and limits its own time. `async def` orchestrates: it
runs on the loop, computes nothing, and reaches out only through `ctx`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, Never, Protocol, get_type_hints

from rewarden.errors import PluginError, SampleError
from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_verifiers.boxes import Boxes, LiveBox
from rewarden_verifiers.chat import Judge
from rewarden_verifiers.inference import Model
from rewarden_verifiers.provers import Prover
from rewarden_verifiers.recheck import Recheck
from rewarden_verifiers.sandbox import Sandbox
from rewarden_verifiers.view import DEFAULT_VIEW, Part, View

Determinism = Literal["exact", "tolerance", "sampled", "stateful"]

READABLE = (
    "response",
    "messages",
    "prompt",
    "reference",
    "prepared",
    "params",
    "steps",
    "media",
    "signals",
    "metadata",
    "progress",
    "finish_reason",
    "token_count",
    "data_source",
    "sample",
    "samples",
    "ctx",
    "resources",
    "watch",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a group, as group verifiers see it. `response` is None if the view found nothing to judge."""

    index: int
    response: str | None
    sample: Sample


class Expired(BaseException):
    """A piece of work has used up its time on this worker. Derives from BaseException, so that `except Exception` in a
    library cannot swallow it. On a fast worker, the work restarts on a slow one; there, the limit is reached.
    """


class Watch(Protocol):
    """The backstop for a verifier that limits its own time: it ends work that the verifier itself cannot end.

    quick_s: seconds after which the work should raise `Expired`, to restart where long work does no harm; None if it
    already runs there.
    """

    @property
    def quick_s(self) -> float | None:
        """See the class."""

    def limit(self, *, cpu_s: float | None = None, wall_s: float | None = None) -> AbstractContextManager[None]:
        """Kills the process soon after the block exceeds this CPU or wall time: for calls into C code that never return
        to the interpreter.
        """

    def preparing(self) -> AbstractContextManager[None]:
        """Marks a block in which exceeding a limit is the reference's fault, as in `prepare`, not the response's."""

    def loading(self) -> AbstractContextManager[None]:
        """Wraps the import of a library that few items need: neither its time nor its memory counts for the item."""


class Unwatched:
    """The watch of a verifier that is called directly: nothing is killed."""

    quick_s: float | None = None

    def limit(self, *, cpu_s: float | None = None, wall_s: float | None = None) -> AbstractContextManager[None]:
        """See `Watch.limit`."""
        return nullcontext()

    def preparing(self) -> AbstractContextManager[None]:
        """See `Watch.preparing`."""
        return nullcontext()

    def loading(self) -> AbstractContextManager[None]:
        """See `Watch.loading`."""
        return nullcontext()


class Resources(Protocol):
    """Resources that a server's configuration provides for a verifier. Picklable; sent to each worker once per use."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever the resources may change a verdict."""


class AsyncEquivalence(Protocol):
    """An `Equivalence` that runs in the CPU workers, each item separately, so that none harms its neighbours."""

    async def read(self, texts: Sequence[str]) -> Sequence[tuple[str, str | None] | SampleError | None]:
        """The (answer, key) of each viewed response; None if it has no answer; an error if reading failed through no
        fault of the text, so that its answer is unknown.
        """

    async def same(self, pairs: Sequence[tuple[str, str]]) -> Sequence[bool | None]:
        """For each pair, whether the answers are equal; None if undecidable."""


class Context(Protocol):
    """An orchestrator's access to everything outside it. Inherits the request's admission, deadline and
    cancellation.
    """

    async def verify(self, use: Use, *, sample: Sample | None = None, **replace: Any) -> Outcome:
        """The outcome of another verifier or recipe on this sample (or on `sample`), with some fields replaced.

        Never raises for failures inside: they return an `error` outcome, so that a recipe can fall back.
        """

    async def verify_group(self, use: Use, members: Sequence[Member]) -> Sequence[Outcome]:
        """The members' outcomes, in order: a group verifier judges all at once, any other one each separately."""

    def recheck(self, recheck: Recheck) -> None:
        """Schedules another verifier to judge this sample after its verdict, outside the request, for the server's
        counts.

        Returns at once. Neither the other verifier's failures nor its time affect the sample's verdict.
        """

    def equivalence(self, use: Use) -> AsyncEquivalence | None:
        """The equivalence that a verifier declares, or None."""

    @property
    def sandbox(self) -> Sandbox:
        """Returns the sandbox, which runs programs in locked rooms, by a host in another process. See
        `rewarden_verifiers.sandbox`.
        """

    @property
    def boxes(self) -> Boxes:
        """Returns the source of fresh boxes. See `rewarden_verifiers.boxes`."""

    @property
    def box(self) -> LiveBox | None:
        """Returns the live box whose final state is judged; None if the sample has none."""

    @property
    def prover(self) -> Prover:
        """Proof assistants: warm processes and compilations, in locked rooms. See `rewarden_verifiers.provers`."""

    @property
    def judge(self) -> Judge:
        """Language models that answer questions. See `rewarden_verifiers.chat`."""

    @property
    def model(self) -> Model:
        """Models that give numbers: rewards, probabilities, vectors. See `rewarden_verifiers.inference`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierSpec:
    """Everything known about a verifier. Made by `@verifier`, or from a recipe; never by hand.

    direct: judges as the function does, without awaiting anything, if every use that it requests can be judged so; for
    orchestrators that call other verifiers and nothing else. It takes the sample, the progress, a function that
    returns the outcome of a use, given the fields of the sample that are replaced for it, and the parameters.
    module: the module that defines the function. plugin: the module named by a plug-in's entry point, which may import
    the function from elsewhere; empty for built-in verifiers and those added by hand.
    """

    name: str
    version: str
    function: Callable[..., Any]
    reads: tuple[str, ...]
    params_type: type | None
    reference_type: Any
    reference_required: bool
    orchestrates: bool
    group: bool
    inline: bool
    graded: bool
    determinism: Determinism
    blocking: bool = False
    resources: Callable[[], Resources] | None = None
    requires: tuple[str, ...] = ()
    optional: Mapping[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    per_python: bool = False
    live_box: bool = False
    prepare: Callable[..., Any] | None = None
    equivalence: Callable[[Any], Any] | None = None
    children: Callable[[Any], Sequence[Use]] | None = None
    warm: Callable[[], None] | None = None
    preload: Callable[[], None] | None = None
    default_view: View = DEFAULT_VIEW
    score_range: tuple[float, float] = (0.0, 1.0)
    bounds: Callable[[Any], tuple[float, float]] | None = None
    variant: Callable[[Any], VerifierSpec | None] | None = None
    direct: Callable[..., Outcome] | None = None
    module: str = ""
    plugin: tuple[str, ...] = ()
    summary: str = ""
    doc: str = ""
    source_text: str | None = None
    built_in: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)


SPEC_ATTRIBUTE = "__rewarden_spec__"


_RENAMED = {"waits": "blocking", "instead": "variant", "site": "resources"}
"""Arguments of `@verifier` that were renamed before the first release."""


def verifier(
    *,
    version: str,
    name: str | None = None,
    graded: bool = False,
    determinism: Determinism = "exact",
    requires: Sequence[str] = (),
    optional: Mapping[str, str] | None = None,
    libraries: Sequence[str] = (),
    per_python: bool = False,
    inline: bool = False,
    blocking: bool = False,
    live_box: bool = False,
    resources: Callable[[], Resources] | None = None,
    prepare: Callable[..., Any] | None = None,
    equivalence: Callable[[Any], Any] | None = None,
    children: Callable[[Any], Sequence[Use]] | None = None,
    warm: Callable[[], None] | None = None,
    preload: Callable[[], None] | None = None,
    view: Part | View = "final",
    score_range: tuple[float, float] = (0.0, 1.0),
    bounds: Callable[[Any], tuple[float, float]] | None = None,
    variant: Callable[[Any], VerifierSpec | None] | None = None,
    **unknown: Never,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares a function to be a verifier.

    version: raised whenever a verdict may change, and only then. graded: scores between the ends of the range occur.
    requires: extras of `rewarden-server` that must be installed. optional: extras that only some samples or parameters
    need, each with a plural phrase that names these; without the extra, they raise MissingDependency. libraries:
    distributions whose version is part of the fingerprint although the code does not import them; imported ones always
    are. per_python: verdicts may differ between minor versions of Python, for instance if the verifier parses Python;
    that version is then part of the fingerprint. blocking: it waits for something outside (see the module). live_box:
    it judges the live box of a rollout (`Context.box`), so that a request to score one needs no response. resources():
    the default if the server's configuration provides nothing. prepare(reference, params): parses the reference once;
    it can also take `resources` and `watch`. equivalence(params): makes the verifier's `Equivalence`. children(params):
    the uses that an orchestrator will verify, to find cycles early. warm(): loads what every item needs, before the
    first item. preload(): loads what few items need, which they otherwise load themselves within `Watch.loading`; a
    server calls it when it starts. bounds(params): the score range, if it depends on parameters. variant(params):
    another form of this verifier with the same name and parameters, which replaces it if the parameters ask for
    something that it does not do itself, such as a pure verifier that asks a model only with some parameters.

    Raises TypeError, naming the argument, if the signature does not follow the contract.
    """
    for argument in unknown:
        now = f": it is {_RENAMED[argument]}= now" if argument in _RENAMED else ""
        raise TypeError(f"@verifier has no argument {argument!r}{now}")

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        own_name: str = name or function.__name__
        spec = _inspect(
            function,
            name=own_name,
            version=version,
            graded=graded,
            determinism=determinism,
            requires=tuple(requires),
            optional=dict(optional or {}),
            libraries=tuple(libraries),
            per_python=per_python,
            inline=inline,
            blocking=blocking,
            live_box=live_box,
            resources=resources,
            prepare=prepare,
            equivalence=equivalence,
            children=children,
            warm=warm,
            preload=preload,
            default_view=view if isinstance(view, View) else View(part=view),
            score_range=score_range,
            bounds=bounds,
            variant=variant,
        )
        setattr(function, SPEC_ATTRIBUTE, spec)
        return function

    return declare


def spec_of(function: Any) -> VerifierSpec | None:
    """The spec that `@verifier` left on a function, or None."""
    spec = getattr(function, SPEC_ATTRIBUTE, None)
    return spec if isinstance(spec, VerifierSpec) else None


def _inspect(function: Callable[..., Any], **declared: Any) -> VerifierSpec:
    signature = inspect.signature(function)
    hints = get_type_hints(function)
    label = f"verifier {declared['name']!r}"
    for argument in signature.parameters.values():
        if argument.name not in READABLE:
            raise TypeError(f"{label}: no argument may be named {argument.name!r}; known: {', '.join(READABLE)}")
    reads = tuple(signature.parameters)
    orchestrates = inspect.iscoroutinefunction(function)
    if "ctx" in reads and not orchestrates:
        raise TypeError(f"{label}: only an 'async def' verifier may read 'ctx'")
    if orchestrates and declared["inline"]:
        raise TypeError(f"{label}: inline is for pure verifiers; an 'async def' runs on the loop")
    if declared["blocking"] and (orchestrates or declared["inline"]):
        raise TypeError(f"{label}: blocking is for pure verifiers in workers")
    if "resources" in reads and declared["resources"] is None:
        raise TypeError(f"{label}: reads 'resources' but declares no resources=")
    if "prepared" in reads and declared["prepare"] is None:
        raise TypeError(f"{label}: reads 'prepared' but declares no prepare=")
    if "samples" in reads and not orchestrates:
        raise TypeError(f"{label}: a group verifier orchestrates; make it 'async def'")
    reference = signature.parameters.get("reference")
    params_type = hints.get("params")
    # If a verifier has a `prepare`, that reads the reference, so its annotation is the schema.
    prepare_hints = get_type_hints(declared["prepare"]) if declared["prepare"] is not None else {}
    reference_type = hints.get("reference", prepare_hints.get("reference", Any))
    required = (reference is not None and reference.default is inspect.Parameter.empty) or "prepared" in reads
    doc = inspect.getdoc(function) or ""
    return VerifierSpec(
        function=function,
        reads=reads,
        params_type=params_type,
        reference_type=reference_type,
        reference_required=required,
        orchestrates=orchestrates,
        group="samples" in reads,
        module=function.__module__,
        built_in=function.__module__.startswith("rewarden_verifiers."),
        summary=doc.split("\n", 1)[0],
        doc=doc,
        **declared,
    )


def call_prepare(spec: VerifierSpec, reference: Any, params: Any, resources: Any, watch: Watch) -> Any:
    """Prepares a reference once for all its siblings. Raises what the verifier's `prepare` raises."""
    assert spec.prepare is not None
    more = {"resources": resources, "watch": watch}
    named = _arguments(spec.prepare)
    return spec.prepare(reference, params, **{name: value for name, value in more.items() if name in named})


@lru_cache(maxsize=1024)
def _arguments(function: Callable[..., Any]) -> frozenset[str]:
    """The names of a function's arguments. Cached: finding them takes longer than preparing many references."""
    return frozenset(inspect.signature(function).parameters)


def call_pure(spec: VerifierSpec, arguments: Mapping[str, Any]) -> Outcome:
    """Runs a pure verifier on its arguments. Unexpected exceptions become PluginError, with the verifier's name."""
    try:
        outcome = spec.function(**arguments)
    except (SampleError, MemoryError, RecursionError):
        raise  # the text reached a limit of memory or depth, which is not a defect of the verifier
    except Exception as error:
        raise PluginError(f"verifier {spec.name!r} raised {type(error).__name__}: {error}") from error
    return checked(spec, outcome)


async def call_orchestrator(spec: VerifierSpec, arguments: Mapping[str, Any]) -> Any:
    """Runs an orchestrator. Returns an Outcome, or for a group verifier a list with one per member.

    A group verifier returns a `SampleError` for a member that cannot be judged, so that its siblings keep their
    verdicts.
    """
    try:
        made: Awaitable[Any] = spec.function(**arguments)
        result = await made
    except SampleError:
        raise
    except Exception as error:
        raise PluginError(f"verifier {spec.name!r} raised {type(error).__name__}: {error}") from error
    if spec.group:
        members = arguments["samples"]
        if not isinstance(result, Sequence) or len(result) != len(members):
            raise PluginError(f"verifier {spec.name!r} must return one outcome for each of its {len(members)} samples")
        return [one if isinstance(one, SampleError) else checked(spec, one) for one in result]
    return checked(spec, result)


def call_direct(
    spec: VerifierSpec,
    sample: Sample,
    progress: Progress | None,
    verify: Callable[[Use, Mapping[str, Any]], Outcome],
    params: Any,
) -> Outcome:
    """Judges by `VerifierSpec.direct`. Raises SampleError, and what `verify` raises beside Exceptions."""
    assert spec.direct is not None
    try:
        outcome = spec.direct(sample, progress, verify, params)
    except SampleError:
        raise
    except Exception as error:
        raise PluginError(f"verifier {spec.name!r} raised {type(error).__name__}: {error}") from error
    return checked(spec, outcome)


def checked(spec: VerifierSpec, outcome: Any) -> Outcome:
    """Checks that a verifier returned a valid outcome: only the engine makes `error` outcomes."""
    if not isinstance(outcome, Outcome):
        raise PluginError(f"verifier {spec.name!r} returned {type(outcome).__name__}, not an Outcome")
    if (outcome.status == "scored") != (outcome.score is not None):
        raise PluginError(f"verifier {spec.name!r}: only status 'scored' can have a score")
    if outcome.status == "error" and not spec.orchestrates:
        raise PluginError(f"verifier {spec.name!r} returned an error; raise instead")
    if spec.built_in:  # our own verifiers are tested for the rest
        return outcome
    for name in ("raw", "extracted", "evidence", "effective"):
        if not _is_json(getattr(outcome, name)):
            raise PluginError(
                f"verifier {spec.name!r}: {name} contains a value that JSON cannot represent (a set, an object, NaN)"
            )
    return outcome


def _is_json(value: Any, depth: int = 0) -> bool:
    """Returns whether a value survives every transport unchanged."""
    if value is None or isinstance(value, (str, bool, int)):
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if depth > 50:
        return False
    if isinstance(value, (dict, Mapping)):  # a fast path for dicts
        return all(isinstance(key, str) and _is_json(item, depth + 1) for key, item in value.items())
    return isinstance(value, (list, tuple)) and all(_is_json(item, depth + 1) for item in value)
