"""The check of a row: `lint` first, then its solutions, then all that ought to fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from rewarden.errors import InvalidReference
from rewarden.types import Sample, Verdict
from rewarden_sandboxes.languages import Registry as Languages
from rewarden_server.engine.plan import Planner
from rewarden_server.studies.data_check.answers import answer_of, perturbed, perturbed_json
from rewarden_server.studies.data_check.checked import Checked
from rewarden_server.studies.data_check.exchange import Exchange
from rewarden_server.studies.data_check.findings import finding
from rewarden_server.studies.data_check.kinds import (
    Form,
    Kind,
    forms_of,
    hurried,
    kind_of,
    program_in,
    sharing,
    solutions_of,
    tests_of,
)
from rewarden_server.studies.data_check.measuring import language_of, measured
from rewarden_server.studies.data_check.mutants import Mutant, mutants
from rewarden_server.studies.data_check.published import read_published
from rewarden_server.studies.data_check.solutions import Solution, SolutionColumn
from rewarden_server.studies.data_check.stand_ins import EMPTY, constant, printing, replaced
from rewarden_server.studies.lint.examination import Examiner, read
from rewarden_server.studies.lint.findings import Finding
from rewarden_server.studies.lint.findings import finding as of_lint
from rewarden_server.studies.rescore.read import Line
from rewarden_server.studies.rescore.threads import in_thread
from rewarden_server.studies.rescore.units import parse
from rewarden_verifiers.group.statistics import passes
from rewarden_verifiers.registry import Registry

_NEAR = 0.5
"""The share of a limit from which a solution is near it."""

_SLOWER = 5.0
"""A mutant may take so many times as long as the solution."""

_NEVER_USED = "the test code never used the candidate"
"""The words of the room of tests where they do not so much as name the program."""

_SHOWN, _LONGEST = 3, 300
"""Examples in a message, and characters of what a verdict says."""

_OF_OTHERS = frozenset({"not_examined"})
"""Findings of `lint` on verifiers that it does not try, and that are tried here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The number of things that are tried. runs: of each solution, where verdicts can differ. solutions, mutants: of a
    row. max_survivors: the share of mutants above which the tests are weak."""

    runs: int = 3
    solutions: int = 3
    mutants: int = 8
    max_survivors: float = 0.5


@dataclass(frozen=True, slots=True)
class _Passed:
    """A solution that passes, in the form in which it does."""

    solution: Solution
    form: Form
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class _Tried:
    """A response that ought to fail. finding: if it passes."""

    finding: str
    says: str
    sample: Sample


@dataclass(eq=False)
class RowCheck:
    """Checks rows. names: of the input's files."""

    examiner: Examiner
    column: SolutionColumn
    exchange: Exchange
    names: Sequence[str]
    effort: Effort = field(default_factory=Effort)

    def __post_init__(self) -> None:
        self._planner = Planner(Registry(self.examiner.functions))
        self._languages = Languages.load()

    async def check(self, line: Line) -> Checked:
        """The row of a line. Raises nothing for a row that cannot be judged."""
        asked = self.examiner.ask(line, self.names[line.file])
        row = Checked(file=asked.file, line=line.number, row=line.row)
        sample = asked.sample
        if sample is None or sample.use is None:
            return row.having(*asked.findings)
        row = replace(row, source=sample.data_source, use=sample.use.name or "recipe")
        examined = read(asked, await self.exchange.ask(asked.samples))
        row = row.having(*(one for one in examined.findings if one.name not in _OF_OTHERS))
        if not row.good:
            return row
        sample = replace(sample, id=None, group=None, group_size=None)
        values = parse(line)
        if isinstance(values, str):
            values = {}
        try:
            published = await in_thread(read_published, sample, values)
        except InvalidReference as error:
            return row.having(of_lint("invalid_reference", error.message))
        stored = self.column.read(values)
        wrong: Sequence[Solution] = ()
        if published is not None:
            sample, wrong = published.sample, published.wrong[: self.effort.mutants]
            if self.column.guessed and published.solutions is not None:
                stored = list(published.solutions)
        kind = kind_of(sample)
        solutions = solutions_of(kind, sample.reference, stored, named=not self.column.guessed)
        if not solutions:
            row = row.having(finding("no_solution"))
            return await self._stand_ins(row, kind, sample, None, wrong)
        return await self._solutions(row, kind, sample, solutions[: self.effort.solutions], wrong)

    async def _solutions(
        self, row: Checked, kind: Kind, sample: Sample, solutions: Sequence[Solution], wrong: Sequence[Solution]
    ) -> Checked:
        judged = [await self._judged(kind, sample, solution) for solution in solutions]
        passed = [one for one in judged if passes(one.verdict)]
        row = replace(row, solutions=len(judged), passed=len(passed), runs=1)
        if not passed:
            return row.having(await self._failure(sample, judged[0]))
        if len(passed) < len(judged):
            failed = next(one for one in judged if not passes(one.verdict))
            said = f"{len(judged) - len(passed)} of {len(judged)}; {_said(failed.verdict)}"
            row = row.having(finding("some_solutions_fail", said))
        row = await self._again(row, sample, passed)
        first = passed[0]
        taken = measured(first.verdict, sample, language_of(first.verdict, self._languages))
        row = replace(row, measured=taken)
        near = [
            f"{share:.0%} of {name}"
            for name, share in (("cpu_s", taken.cpu_share), ("memory_mb", taken.memory_share))
            if share is not None and share > _NEAR
        ]
        if near:
            row = row.having(finding("near_limit", " and ".join(near)))
        if not row.good:
            return row
        return await self._stand_ins(row, kind, sample, first, wrong)

    async def _judged(self, kind: Kind, sample: Sample, solution: Solution) -> _Passed:
        """A solution in the form in which it passes, or in the usual one."""
        forms = forms_of(kind, solution)
        head = forms[0]
        (verdict,) = await self.exchange.ask([replace(sample, response=head(solution.text))])
        if passes(verdict) or verdict.status == "error" or verdict.evidence.get("total"):
            return _Passed(solution, head, verdict)  # its tests ran: no other form changes that
        others = await self.exchange.ask([replace(sample, response=form(solution.text)) for form in forms[1:]])
        for form, other in zip(forms[1:], others, strict=True):
            if passes(other):
                return _Passed(solution, form, other)
        return _Passed(solution, head, verdict)

    async def _failure(self, sample: Sample, failed: _Passed) -> Finding:
        """The reason why no solution of a row passes."""
        verdict, response = failed.verdict, failed.form(failed.solution.text)
        if verdict.status == "error":
            return finding("not_judged", _said(verdict))
        missing = [flag.partition(": ")[2] for flag in verdict.flags if flag.startswith("missing_module: ")]
        if missing:
            return finding("missing_module", ", ".join(missing))
        if verdict.evidence.get("said") == _NEVER_USED:
            return finding("never_called", _NEVER_USED)
        again = [replace(sample, response=response)] * (self._runs(sample) - 1)
        shared = sharing(sample)
        verdicts = await self.exchange.ask([*again, *([] if shared is None else [replace(shared, response=response)])])
        passing = sum(map(passes, verdicts[: len(again)]))
        if passing:
            return finding("flaky", f"{len(again) + 1 - passing} of {len(again) + 1} runs fail: {_said(verdict)}")
        if shared is not None and passes(verdicts[-1]):
            return finding("needs_shared", _said(verdict))
        return finding("solution_fails" if verdict.score is not None else "solution_unscored", _said(verdict))

    def _runs(self, sample: Sample) -> int:
        """The number of runs of a solution: one, if verdicts of this verifier cannot differ."""
        assert sample.use is not None
        sure = self._planner.bind(sample.use).spec.determinism in ("exact", "tolerance")
        return 1 if sure else self.effort.runs

    async def _again(self, row: Checked, sample: Sample, passed: Sequence[_Passed]) -> Checked:
        """Runs the solutions again, if verdicts of this verifier can differ."""
        runs = self._runs(sample)
        if runs < 2:
            return row
        again = [one for one in passed for _ in range(runs - 1)]
        verdicts = await self.exchange.ask([replace(sample, response=one.form(one.solution.text)) for one in again])
        broken = next((one for one in verdicts if one.status == "error"), None)
        if broken is not None:
            return row.having(finding("not_judged", _said(broken)))
        failed = [one for one in verdicts if not passes(one)]
        row = replace(row, runs=runs)
        if not failed:
            return row
        said = f"{len(failed)} of {len(passed) * runs} runs fail: {_said(failed[0])}"
        return row.having(finding("flaky", said))

    async def _stand_ins(
        self, row: Checked, kind: Kind, sample: Sample, first: _Passed | None, wrong: Sequence[Solution]
    ) -> Checked:
        """Judges all that ought to fail."""
        tried = list(self._tried(kind, sample, first))
        made = [] if first is None else self._mutants(row, kind, sample, first)
        stored = [replace(sample, response=forms_of(kind, one)[0](one.text)) for one in wrong]
        verdicts = await self.exchange.ask([*(one.sample for one in tried), *stored, *(one for _, one in made)])
        broken = next((one for one in verdicts if one.status == "error"), None)
        if broken is not None:
            return row.having(finding("not_judged", _said(broken)))
        refused = next((one for one in verdicts if one.reason == "invalid_reference"), None)
        if refused is not None:
            return row.having(of_lint("invalid_reference", refused.feedback))
        found: dict[str, list[str]] = {}
        for one, verdict in zip(tried, verdicts, strict=False):
            if passes(verdict):
                found.setdefault(one.finding, []).append(one.says)
            elif one.finding == "never_called":
                # Those that pass beside others that fail.
                ids = [str(test["id"]) for test in verdict.evidence.get("tests") or () if test.get("verdict") == "AC"]
                if ids and verdict.evidence.get("verdict") != "CE":
                    more = "" if len(ids) <= _SHOWN else f" and {len(ids) - _SHOWN} more"
                    row = row.having(finding("not_called_by_all", f"{', '.join(ids[:_SHOWN])}{more}"))
        for name in ("never_called", "empty_passes"):
            if name in found:  # the others follow from it
                found = {name: found[name]}
        row = row.having(*(finding(name, "; ".join(says)) for name, says in found.items()))
        ended = [one for one in verdicts[len(tried) : len(tried) + len(stored)] if _ran(one)]
        row = replace(row, wrong=len(ended), wrong_passed=sum(map(passes, ended)))
        judged = [
            (mutant, verdict)
            for (mutant, _), verdict in zip(made, verdicts[len(tried) + len(stored) :], strict=True)
            if _ran(verdict)
        ]
        survivors = tuple(mutant.name for mutant, verdict in judged if passes(verdict))
        row = replace(row, mutants=len(judged), survivors=survivors)
        if not row.good:
            return row
        return row.having(
            *self._weak("wrong_solutions_pass", row.wrong_passed, row.wrong, "stored as wrong"),
            *self._weak("mutants_survive", len(survivors), len(judged), "; ".join(survivors[:_SHOWN])),
        )

    def _weak(self, name: str, passed: int, judged: int, said: str) -> Iterator[Finding]:
        """Yields the finding on programs with a mistake, if some of them passed. name: the one if few did."""
        if passed:
            weak = judged > 1 and passed / judged > self.effort.max_survivors
            yield finding("weak_tests" if weak else name, f"{passed} of {judged}: {said}")

    def _tried(self, kind: Kind, sample: Sample, first: _Passed | None) -> Iterator[_Tried]:
        def tried(name: str, says: str, response: str) -> _Tried:
            return _Tried(name, says, replace(sample, response=response))

        yield tried("empty_passes", "an empty response", "")
        if first is None:
            form = forms_of(kind, Solution("a"))[0]
            if kind == "program":
                yield tried("empty_passes", "an empty program", form(EMPTY["python"]))
            return
        form, text = first.form, first.solution.text
        if kind == "program":
            yield from self._programs(sample, first)
        elif kind == "json":
            other = perturbed_json(program_in(text))
            if other is not None:
                yield tried("wrong_passes", other[:80], form(other))
        elif kind == "proof":
            head, sign, _ = program_in(text).rpartition(":=")
            if sign:
                yield tried("wrong_passes", "sorry", form(f"{head}:= by sorry\n"))
        elif kind == "answer":
            answer = _answer_of(sample, first.solution)
            if answer is not None:
                yield tried("wrong_passes", perturbed(answer)[:80], form(perturbed(answer)))

    def _programs(self, sample: Sample, first: _Passed) -> Iterator[_Tried]:
        language = language_of(first.verdict, self._languages)
        if language is None:
            return
        fenced = forms_of("program", Solution("a", first.solution.language))[0]
        form = first.form if "```" not in first.solution.text else fenced

        def tried(name: str, says: str, code: str | None) -> Iterator[_Tried]:
            if code:
                yield _Tried(name, says, replace(sample, response=form(code)))

        yield from tried("empty_passes", "an empty program", EMPTY.get(language.name))
        code = first.verdict.extracted if isinstance(first.verdict.extracted, str) else program_in(first.solution.text)
        if language.python:
            for one in tried("never_called", "they pass although each of its functions fails", replaced(code, None)):
                yield replace(one, sample=_to_the_end(one.sample))
        value = constant(tests_of(sample))
        if value is not None:
            way, text = value
            made = printing(language.name, text) if way == "stdio" else replaced(code, text)
            yield from tried("constant_passes", text[:80] or "nothing", made)

    def _mutants(self, row: Checked, kind: Kind, sample: Sample, first: _Passed) -> list[tuple[Mutant, Sample]]:
        most = self.effort.mutants
        text = first.solution.text
        if kind == "query":
            return [(one, replace(sample, response=first.form(one.code))) for one in _queries(program_in(text), most)]
        language = language_of(first.verdict, self._languages)
        if kind != "program" or language is None:
            return []
        slowest = measured(first.verdict, sample, language).cpu_s or 0.0
        hasty = hurried(sample, max(1.0, _SLOWER * slowest))
        form = first.form if "```" not in text else forms_of(kind, Solution("a", first.solution.language))[0]
        made = mutants(program_in(text), language.python, most, row.place)
        return [(one, replace(hasty, response=form(one.code))) for one in made]


def _answer_of(sample: Sample, solution: Solution) -> str | None:
    """The answer that a solution gives: itself, or that of the reference if it is worked out at length."""
    return answer_of(sample.reference) if "\n" in solution.text else solution.text


def _to_the_end(sample: Sample) -> Sample:
    """The sample with all tests run, where the verifier can do so."""
    use = sample.use
    if use is None or use.name != "code" or use.params.get("stop") is not None:
        return sample
    return replace(sample, use=replace(use, params={**use.params, "stop": "never"}))


def _queries(text: str, most: int) -> list[Mutant]:
    from rewarden_verifiers.sql.mutation.mutants import neighbours
    from rewarden_verifiers.sql.statement import read_statement
    from rewarden_verifiers.sql.tokens import Unreadable

    try:
        found = neighbours(read_statement(text, "sqlite"))
    except Unreadable:
        return []
    return [Mutant("query", " ".join(one.split())[:80], one) for one in found[:most]]


def _ran(verdict: Verdict) -> bool:
    """Returns whether a program with a mistake was judged at all."""
    return verdict.score is not None and verdict.reason != "compile_error"


def _said(verdict: Verdict) -> str:
    """The reason of a verdict, with the test that failed first."""
    reason = verdict.reason or verdict.status
    if verdict.score is None and verdict.feedback:
        words = f"{verdict.feedback}: {verdict.evidence['said']}" if "said" in verdict.evidence else verdict.feedback
        return f"{reason}: {' '.join(words.split())[:_LONGEST]}"
    tests = verdict.evidence.get("tests") or ()
    failed = next((one for one in tests if one.get("verdict") not in ("AC", "SK")), None)
    return reason if failed is None else f"{reason} in test {failed['id']} of {verdict.evidence.get('total')}"
