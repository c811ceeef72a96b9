"""The examination of references: wrong answers and the reference's own text are judged, and the verdicts are read.

Nothing is guessed: what would go unscored is what did, in the verdicts of the use itself on wrong answers of several
forms. Only the reading is asked of the readers of references.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.client import AsyncClient
from rewarden.errors import MissingDependency, SampleError
from rewarden.reading import read_by
from rewarden.routing import Routing
from rewarden.types import BadSample, Sample, Use, Verdict
from rewarden.wire.json import sample_from_json
from rewarden_server.engine.plan import Planner
from rewarden_server.studies.lint.findings import Finding, finding
from rewarden_server.studies.rescore.columns import Columns
from rewarden_server.studies.rescore.groups import AsItStands
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.read import Inputs, Line
from rewarden_server.studies.rescore.units import parse
from rewarden_verifiers.answer.answer import AnswerParams, route
from rewarden_verifiers.answer.math.prepared import prepare_reference
from rewarden_verifiers.answer.math.syntax import Conditioned, Listing, walk
from rewarden_verifiers.answer.worked import answer_in
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.extraction import demanded
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.view import transcript

WRONG: Mapping[str, tuple[str, ...]] = {
    "number": ("90210417", "-0.0073"),
    "formula": (r"\frac{7}{q^{19}}+5", r"w^{23}-\sqrt{7}"),
    "words": ("a violet zeppelin", "seventeen humming lighthouses"),
    "letter": ("J", "A"),
}
"""Answers of several forms. Whichever a verdict pays is right by chance, and tells nothing."""

_BATCH = 64
"""Rows that are judged at a time."""


@dataclass(frozen=True, slots=True)
class Examined:
    """A row. branch, by: who judges, and by what that was decided. reading: the reference as it is compared, where it
    is a text. unscored: the share of wrong answers that would have no score.
    """

    file: str
    line: int
    branch: str | None = None
    by: str | None = None
    reading: str | None = None
    unscored: float | None = None
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """A row on its way. sample: routed, without a response; None for a row that cannot be read. wrong, own: the samples
    that are judged for it. findings: those that need no verdict."""

    file: str
    line: int
    sample: Sample | None = None
    wrong: tuple[Sample, ...] = ()
    own: Sample | None = None
    reading: str | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Returns the samples to judge, for `read`."""
        return self.wrong if self.own is None else (*self.wrong, self.own)


@dataclass(frozen=True, slots=True)
class _Judge:
    """A use, without whom it would ask where it cannot tell. params: its parameters, read; problem: why its references
    are not examined."""

    use: Use
    params: Any = None
    problem: Finding | None = None


@dataclass(eq=False)
class Examiner:
    """Examines the rows of files of references. columns: what of a row is what; routing: who judges which."""

    columns: Columns
    routing: Routing
    functions: Sequence[str] = ()
    _judges: dict[str, _Judge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._planner = Planner(Registry(self.functions))

    def check(self) -> None:
        """Refuse a use that all rows would have, and that reads no references or asks others. Raises RescoreError."""
        if self.routing.single is not None:
            judge = self._judge(self.routing.single)
            if judge.problem is not None:
                raise RescoreError(judge.problem.message)

    async def examine(
        self, inputs: Inputs, client: AsyncClient, limit: int, watcher: Watcher | None = None
    ) -> list[Examined]:
        """All rows, in order. Raises RequestError."""
        watcher = watcher or Watcher()
        order = AsItStands(inputs, limit)
        watcher.advance(0, 0.0)
        found: list[Examined] = []
        batch: list[Asked] = []
        for line, place in order.lines(None):
            batch.append(self.ask(line, inputs.names[line.file]))
            if len(batch) == _BATCH:
                found += await self._examined(batch, client)
                watcher.advance(len(found), order.share(place))
                batch = []
        found += await self._examined(batch, client)
        watcher.end()
        return found

    def ask(self, line: Line, file: str) -> Asked:
        """A row with the samples that `read` wants judged."""
        row = parse(line)
        if isinstance(row, str):
            return Asked(file, line.number, findings=(finding("unreadable_row", row),))
        values = {**self.columns.common(row, file, line.number), "response": ""}
        source = self.columns.source_of(row, file, line.number)
        if source is not None:
            values["data_source"] = source
        sample = sample_from_json(values)
        if isinstance(sample, Sample) and self.routing.routes:
            sample = self.routing.apply(sample)
        if isinstance(sample, BadSample):
            return Asked(file, line.number, findings=(finding("unreadable_row", sample.message),))
        if sample.use is None:
            return Asked(file, line.number, findings=(finding("unreadable_row", "no verifier is set for it"),))
        judge = self._judge(sample.use)
        if judge.problem is not None:
            return Asked(file, line.number, sample, findings=(judge.problem,))
        if sample.reference is None:
            return Asked(file, line.number, findings=(finding("no_reference"),))
        bare = replace(sample, prompt=None, id=None)
        boxed, whole = (read_by(judge.use, rule) or judge.use for rule in ("boxed", "whole"))
        wrong = tuple(
            replace(bare, use=boxed, response=f"\\boxed{{{text}}}") for texts in WRONG.values() for text in texts
        )
        reading = self._reading(judge, sample)
        own = None if reading is None else replace(bare, use=whole, response=reading)
        noted: tuple[Finding, ...] = ()
        if sample.prompt is not None and demanded(transcript(sample.prompt)):
            noted = (finding("form_demanded"),)
        return Asked(file, line.number, replace(sample, use=judge.use), wrong, own, reading, noted)

    def _judge(self, use: Use) -> _Judge:
        key = canonical([use.name, use.recipe, use.params])
        if key not in self._judges:
            self._judges[key] = self._made(use)
        return self._judges[key]

    def _made(self, use: Use) -> _Judge:
        if use.name == "answer":  # whom it would ask where it cannot tell is not asked
            use = replace(use, params={name: value for name, value in use.params.items() if name != "fallback"})
        name = use.name or "this recipe"
        try:
            bound = self._planner.bind(use)
        except SampleError as error:
            return _Judge(use, problem=Finding("invalid_use", "error", f"{name}: {error.message}"))
        spec = bound.spec
        if spec.orchestrates and use.name != "answer":
            return _Judge(use, problem=finding("not_examined", name))
        if "reference" not in spec.reads and "prepared" not in spec.reads and use.name != "answer":
            return _Judge(use, problem=Finding("not_examined", "note", f"{name} reads no reference"))
        return _Judge(use, params=bound.params)

    def _reading(self, judge: _Judge, sample: Sample) -> str | None:
        """The text with which an answer is compared; None if the reference is not text, nor one with a type."""
        reference = sample.reference
        if isinstance(judge.params, AnswerParams):
            try:
                reference = route(sample, judge.params).reference
            except SampleError:
                return None
        if judge.use.name == "math" and isinstance(reference, str):
            return answer_in(reference)
        if isinstance(reference, bool) or not isinstance(reference, (str, int, float)):
            return None
        return str(reference)

    async def _examined(self, batch: Sequence[Asked], client: AsyncClient) -> list[Examined]:
        samples = [sample for row in batch for sample in row.samples]
        verdicts = iter((await client.verify(samples)).verdicts if samples else ())
        return [read(row, [next(verdicts) for _ in row.samples]) for row in batch]


def read(row: Asked, verdicts: Sequence[Verdict]) -> Examined:
    """Returns a row, by the verdicts on its samples."""
    if row.sample is None or not verdicts:
        return Examined(row.file, row.line, findings=row.findings)
    wrong = [verdict for verdict in verdicts[: len(row.wrong)] if not verdict.passed]
    own = verdicts[-1] if row.own is not None else None
    evidence = next((verdict.evidence for verdict in verdicts if verdict.evidence), {})
    branch = evidence.get("branch", row.sample.use.name if row.sample.use is not None else None)
    unscored = [verdict for verdict in wrong if verdict.status != "scored"]
    found = [*_of_verdicts(wrong, unscored)]
    if not any(one.kind == "error" for one in found):
        told = {one.name for one in found}
        found += [one for one in _of_reading(row, branch, evidence) if not (one.name == "no_options" and told)]
        if own is not None and own.status == "scored" and not own.passed:
            found.append(finding("own_text_unpaid", own.reason))
    share = len(unscored) / len(wrong) if wrong else 0.0
    return Examined(row.file, row.line, branch, evidence.get("by"), row.reading, share, (*found, *row.findings))


def _of_mathematics(reading: str) -> Iterator[Finding]:
    nodes = [node for alternative in prepare_reference(reading).alternatives for node in alternative.nodes[:1]]
    if any(isinstance(node, Listing) for node in nodes):
        yield finding("several_values")
    if any(isinstance(part, Conditioned) for node in nodes for part in walk(node)):
        yield finding("condition")


def _of_verdicts(wrong: Sequence[Verdict], unscored: Sequence[Verdict]) -> Iterator[Finding]:
    """The findings that verdicts on wrong answers tell, each reason once."""
    told = {verdict.reason: verdict for verdict in reversed(unscored) if verdict.reason is not None}
    for reason, verdict in sorted(told.items()):
        yield finding(reason, verdict.feedback, otherwise="error" if len(unscored) == len(wrong) else "warning")


def _of_reading(row: Asked, branch: str | None, evidence: Mapping[str, Any]) -> Iterator[Finding]:
    """The findings that the reading of a reference tells."""
    if "reference_reduced" in evidence:
        yield finding("worked_solution", str(evidence["reference_reduced"]))
    if branch == "math" and row.reading is not None:
        with suppress(MissingDependency):  # which the verdicts on its answers tell
            yield from _of_mathematics(row.reading)
    if branch == "choice" and row.sample is not None:
        use, reference = row.sample.use, row.sample.reference
        params = use.params if use is not None else {}
        own = params if use is not None and use.name == "choice" else params.get("params", {}).get("choice", {})
        if "options" not in own and not (isinstance(reference, Mapping) and "options" in reference):
            yield finding("no_options")
