"""Planning: from a sample to the arguments that a verifier reads. A failure here becomes the sample's own verdict.

Safe to call from several threads, because large batches are planned beside the loop.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rewarden.errors import InvalidParams, InvalidSample, UnknownVerifier
from rewarden.types import Batch, Progress, Sample, Use, VerifierRef
from rewarden_server.engine.work import BoundUse, Op
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.contract import Context, Resources, VerifierSpec
from rewarden_verifiers.fingerprint.fingerprint import fingerprint
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_params, parse_reference
from rewarden_verifiers.view import apply_view, transcript, view_of

SHARED = "$shared"
"""Marks a field of a reference whose value is in `Batch.shared`."""

RUN = "run"
"""The key of a sample's metadata that names the training run. No verifier sees it: verdicts, and the keys under which
they are cached, are the same in every run."""

AllResources = Mapping[Any, Resources]
"""Resources by a verifier's name, or by the `resources` that verifiers declare."""

_BOUND = 4096
_DEPTH = 16
"""The maximum depth of verifiers within verifiers; more is a cycle or a mistake."""


@dataclass(slots=True, eq=False)
class Plan:
    """The planned call of a pure verifier. `viewless` is the reason if the response contains nothing to judge."""

    use: BoundUse
    arguments: dict[str, Any]
    reference_key: bytes | None = None
    viewless: str | None = None
    op: Op = "verify"


class Planner:
    """Binds uses and collects arguments.

    `all_resources`: the resources of the server's configuration, by verifier, or by the default that verifiers declare
    (`VerifierSpec.resources`). generation: how often they were replaced; earlier bindings can have other fingerprints.
    """

    def __init__(self, registry: Registry, all_resources: AllResources | None = None) -> None:
        self.registry = registry
        self.generation = 0
        self._epoch = 0
        self._all_resources: AllResources = all_resources or {}
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._bound: OrderedDict[tuple[str, str], tuple[int, BoundUse]] = OrderedDict()

    def provide(self, all_resources: AllResources, *, moved: bool) -> None:
        """Replaces some of the resources; every use is bound again when it is next needed. moved: a known resource
        changed (`BoundUse.epoch`); otherwise only more became known about the same resources."""
        with self._lock:
            self._all_resources = {**self._all_resources, **all_resources}
            self._epoch += moved
            self.generation += 1

    def bind(self, use: Use) -> BoundUse:
        """Returns a use with its verifier and validated parameters. Raises SampleError, with a path that begins at
        `use`."""
        recipe = canonical(use.recipe) if use.recipe is not None else ""
        key = (use.name or recipe, canonical(use.params) if use.params else "")
        with self._lock:
            generation, found = self._bound.get(key, (-1, None))
            if found is not None and generation == self.generation:
                self._bound.move_to_end(key)
                return found
            generation, epoch = self.generation, self._epoch
        made = self._bind(use, epoch)
        with self._lock:
            before, known = self._bound.get(key, (-1, None))
            if known is not None:
                # The same number, so that the siblings of a group stay together; workers read no resources that can
                # change.
                same = known.ref == made.ref or before > generation
                made = known if same else replace(made, id=known.id)
            self._bound[key] = (max(before, generation), made)
            self._bound.move_to_end(key)
            if len(self._bound) > _BOUND:
                self._bound.popitem(last=False)
        return made

    def _bind(self, use: Use, epoch: int) -> BoundUse:
        if use.name is not None and use.recipe is not None:
            raise InvalidParams("a use has either a name or a recipe, not both", path="use")
        spec = self.registry.resolve(use)
        given = dict(use.params)
        if "view" in given and not spec.group and "response" not in spec.reads:
            raise InvalidParams(
                f"verifier {spec.name!r} reads no text itself; set the view on the verifiers that it uses",
                path="params",
            )
        view = view_of(given.pop("view"), spec.default_view) if "view" in given else spec.default_view
        params = parse_params(spec, given)
        if spec.variant is not None:
            spec = spec.variant(params) or spec
        if spec.bounds is not None:
            spec = replace(spec, score_range=spec.bounds(params))
        self._check_children(spec, params, (spec.name,))
        bound = [self.bind(child) for child in spec.children(params)] if spec.children else []
        children = [child.ref.fingerprint for child in bound]
        immediate = spec.inline or (spec.direct is not None and all(child.immediate for child in bound))
        resources = None if spec.resources is None else self._provided(spec.name, spec.resources)
        moved = fingerprint(spec, params, view, children, "" if resources is None else resources.fingerprint)
        ref = VerifierRef(name=spec.name, version=spec.version, fingerprint=moved)
        return BoundUse(next(self._ids), spec, params, view, ref, resources, epoch, immediate)

    def _provided(self, name: str, declared: Callable[[], Resources]) -> Resources:
        all_resources = self._all_resources
        return all_resources.get(name) or all_resources.get(declared) or declared()

    def _check_children(self, spec: VerifierSpec, params: Any, trail: tuple[str, ...]) -> None:
        if spec.children is None:
            return
        if len(trail) > _DEPTH:
            raise InvalidParams(f"verifiers use each other in a cycle: {' → '.join(trail[:4])} → …", path="use")
        for child in spec.children(params):
            child_spec = self.registry.resolve(child)
            given = {name: value for name, value in child.params.items() if name != "view"}
            child_params = parse_params(child_spec, given)
            if child_spec.variant is not None:
                child_spec = child_spec.variant(child_params) or child_spec
            self._check_children(child_spec, child_params, (*trail, child_spec.name))

    @staticmethod
    def resolve(sample: Sample, shared: Mapping[str, Any]) -> Sample:
        """Returns the sample with its shared keys replaced by their values. Raises InvalidSample.

        A field of a reference can be shared as well, `{"$shared": key}`, such as a database for many questions.
        """
        prompt, reference = sample.prompt, sample.reference
        inlined = _inlined(reference, shared) if type(reference) is dict else reference
        if sample.prompt_key is None and sample.reference_key is None:
            return sample if inlined is reference else replace(sample, reference=inlined)
        reference = inlined
        if sample.prompt_key is not None:
            prompt = _shared(shared, sample.prompt_key, "prompt_key", prompt)
        if sample.reference_key is not None:
            reference = _shared(shared, sample.reference_key, "reference_key", reference)
        return replace(sample, prompt=prompt, reference=reference, prompt_key=None, reference_key=None)

    @staticmethod
    def plan(use: BoundUse, sample: Sample, progress: Progress | None, context: Context | None = None) -> Plan:
        """Returns the call of the verifier of `use` on a resolved sample; context: an orchestrator's. Raises
        SampleError."""
        spec = use.spec
        arguments: dict[str, Any] = {}
        viewless = None
        reference_key = None
        for name in spec.reads:
            if (read := _OF_SAMPLE.get(name)) is not None:
                arguments[name] = read(sample)
            elif name == "response":
                viewed = apply_view(sample.response, use.view)
                if viewed.text is None:
                    viewless = viewed.reason or "no_answer"
                arguments[name] = viewed.text
            elif name == "params":
                arguments[name] = use.params
            elif name == "reference":
                if name not in arguments:
                    arguments[name] = parse_reference(spec, sample.reference)
            elif name == "prepared":
                reference = parse_reference(spec, sample.reference)
                arguments["reference"] = reference
                if not spec.inline:  # only workers keep what they prepared
                    reference_key = _digest(reference)
            elif name == "progress":
                arguments[name] = progress
            elif name == "ctx":
                arguments[name] = context
            elif name == "samples":
                continue  # the members of a group are more than this sample
            elif name == "resources" and spec.orchestrates:
                arguments[name] = use.resources
            elif name in ("resources", "watch"):
                continue  # the same for all samples, and available where the verifier runs
            else:
                arguments[name] = getattr(sample, name)
        return Plan(use, arguments, reference_key, viewless)


def as_judged(sample: Sample) -> Sample:
    """Returns the sample as verifiers see it."""
    metadata = sample.metadata
    if metadata is None or RUN not in metadata:
        return sample
    return replace(sample, metadata={name: value for name, value in metadata.items() if name != RUN} or None)


_OF_SAMPLE: Mapping[str, Callable[[Sample], Any]] = {
    "sample": as_judged,
    "messages": lambda sample: sample.response,
    "prompt": lambda sample: None if sample.prompt is None else transcript(sample.prompt),
    "metadata": lambda sample: as_judged(sample).metadata,
}
"""The values that a verifier reads of a sample, where these are not simply the field."""


def default_use(sample: Sample, header: Batch) -> Use:
    """Returns the use of a sample: its own or the batch's. Raises UnknownVerifier if there is neither."""
    use = sample.use or header.use
    if use is None:
        raise UnknownVerifier("no verifier: give the sample or the batch a 'use'", path="use")
    return use


def _shared(shared: Mapping[str, Any], key: str, field: str, own: Any) -> Any:
    if own is not None:
        raise InvalidSample(f"give either {field.removesuffix('_key')} or {field}, not both", path=field)
    if key not in shared:
        raise InvalidSample(f"{field} {key!r} is not a key of 'shared'", path=field)
    return shared[key]


def _inlined(reference: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    named = {
        name: value[SHARED] for name, value in reference.items() if type(value) is dict and value.keys() == {SHARED}
    }
    for name, key in named.items():
        if not isinstance(key, str) or key not in shared:
            raise InvalidSample(
                f"reference.{name}: {key!r} is not a key of 'shared'", path=f"reference.{name}.{SHARED}"
            )
    return {**reference, **{name: shared[key] for name, key in named.items()}} if named else reference


def _digest(reference: Any) -> bytes:
    data = f"s{reference}" if isinstance(reference, str) else f"j{canonical(reference)}"
    return hashlib.blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16).digest()
