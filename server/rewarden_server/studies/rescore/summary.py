"""The summary of a run: JSON for programs, a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.commands.terminal import one_line
from rewarden_server.studies.rescore.attempts import PassAt
from rewarden_server.studies.rescore.tally import Counts, Tally
from rewarden_verifiers.group.statistics import wilson

_TOP_REASONS = 8
_TOP_MISTAKES = 3
_MEAN = "mean: over the scored responses"
_ALL = "(all)"
_NONE = "(none)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The results of a run. `seconds` are those of all sittings of the run together; 0 where nothing was judged.

    advice: which extraction would read the answers, where most of a use's first responses have none that is read.
    """

    tally: Tally
    pass_at: Sequence[Sequence[PassAt]]
    pass_at_all: Sequence[PassAt]
    seconds: float
    advice: Sequence[str] = ()

    @property
    def total(self) -> Counts:
        """All sources together."""
        return self.tally.total()

    @property
    def all_failed(self) -> bool:
        """Returns whether there was something to score and nothing was scored."""
        total = self.total
        return total.scored == 0 and (total.responses > 0 or self.tally.rejected > 0)

    def to_json(self) -> dict[str, Any]:
        """Returns the summary, ready for JSON. Shares and means are null if there is nothing to divide by."""
        total = self.total
        baseline = self.tally.baseline
        return {
            **({} if baseline is None else {"baseline": baseline.to_json()}),
            **_counts(total, self.pass_at_all),
            "rejected_lines": self.tally.rejected,
            "advice": list(self.advice),
            "seconds": round(self.seconds, 3),
            "rows_per_second": _ratio(total.rows - total.copied, self.seconds),
            "by_data_source": {
                name or _NONE: _counts(counts, found)
                for (name, counts), found in zip(self.tally.sources.items(), self.pass_at, strict=True)
            },
        }

    def table(self) -> str:
        """Aligned plain text."""
        sources = list(zip(self.tally.sources.items(), self.pass_at, strict=True))
        total = self.total
        k = max((found.k for found in self.pass_at_all), default=1)
        head = ["data source", "rows", "responses", "scored", "undecided", "error", "mean", "passed (95 %)"]
        head += [f"pass@{k}"] if k > 1 else []
        head += ["no answer", "truncated"]
        cells, label = [head], _ALL
        if len(sources) > 1:
            cells += [_cells(name or _NONE, counts, found, k) for (name, counts), found in sources]
        else:
            label = next((name for name in self.tally.sources if name), _ALL)
        cells.append(_cells(label, total, self.pass_at_all, k))
        widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
        lines = [_aligned(row, widths) for row in cells]
        lines.insert(1, "-" * max(map(len, lines)))
        if self.tally.baseline is not None:
            lines = [*self.tally.baseline.lines(), "", *lines]
        notes = [_MEAN]
        if k > 1:
            groups = next(found.groups for found in self.pass_at_all if found.k == k)
            notes.append(f"pass@{k}: over {groups} groups with at least {k} judged responses")
        lines.append(f"({'; '.join(notes)})")
        lines += _unscored_lines(total)
        lines += [f"mistake    {one_line(told)}: {count:,}" for told, count in _top(total.mistakes)[:_TOP_MISTAKES]]
        if total.reasons:
            shown = ", ".join(f"{name} {count}" for name, count in _top(total.reasons))
            lines.append(f"reasons    {shown}")
        # Without this line, scores that all come from a fallback look like the judge's.
        flags = {name: count for name, count in total.flags.items() if name not in total.reasons}
        if flags:
            lines.append(f"flags      {', '.join(f'{name} {count}' for name, count in _top(flags))}")
        if total.excluded:
            lines.append(f"excluded   {total.excluded:,} responses, which trainers are asked to leave out")
        if total.judge_failures:
            shown = ", ".join(f"{one_line(name)} {count}" for name, count in _top(total.judge_failures))
            lines.append(f"judges     failed on outputs, by group: {shown}")
        for verifier, count in _top(total.verifiers):
            name, version, fingerprint = verifier.rsplit(" ", 2)
            lines.append(f"verifier   {name} {version} ({fingerprint}): {count} verdicts")
        if total.copied:
            lines.append(f"copied     {total.copied} rows passed through unchanged")
        if total.left_out:
            lines.append(f"left out   {total.left_out} unscored rows (--unscored skip)")
        lines += [f"advice     {one_line(told)}" for told in self.advice]
        if self.seconds:
            rate = _ratio(total.rows - total.copied, self.seconds)
            speed = f", {rate:,.0f} rows/s" if rate else ""
            lines.append(f"took       {self.seconds:.1f} s{speed}")
        return "\n".join(lines)


def _counts(counts: Counts, pass_at: Sequence[PassAt]) -> dict[str, Any]:
    return {
        "rows": counts.rows,
        "copied_rows": counts.copied,
        "left_out_rows": counts.left_out,
        "responses": counts.responses,
        "scored": counts.scored,
        "undecided": sum(counts.undecided.values()),
        "error": sum(counts.error.values()),
        "unscored_by_fault": {"undecided": dict(counts.undecided), "error": dict(counts.error)},
        "mean_score_over_scored": _ratio(counts.score_sum, counts.scored),
        "judged": counts.judged,
        "passed": counts.passed,
        "passed_share": _ratio(counts.passed, counts.judged),
        "passed_interval_95": list(wilson(counts.passed, counts.judged)) if counts.judged else None,
        "pass_at": {str(found.k): {"mean": found.mean, "groups": found.groups} for found in pass_at},
        "reasons": dict(counts.reasons.most_common()),
        "flags": dict(counts.flags.most_common()),
        "mistakes": dict(counts.mistakes.most_common()),
        "judge_failures": dict(counts.judge_failures.most_common()),
        "no_answer_share": _ratio(counts.no_answer, counts.responses),
        "truncated_share": _ratio(counts.truncated, counts.responses),
        "excluded_share": _ratio(counts.excluded, counts.responses),
        "verifiers": [
            dict(zip(("name", "version", "fingerprint"), verifier.rsplit(" ", 2), strict=True), verdicts=count)
            for verifier, count in counts.verifiers.most_common()
        ],
    }


def _cells(name: str, counts: Counts, pass_at: Sequence[PassAt], k: int) -> list[str]:
    low, high = wilson(counts.passed, counts.judged)
    passed = f"{counts.passed / counts.judged:.1%} ({low:.1%}–{high:.1%})" if counts.judged else "–"
    found = next((one for one in pass_at if one.k == k), None)
    return [
        one_line(name),
        f"{counts.rows:,}",
        f"{counts.responses:,}",
        f"{counts.scored:,}",
        f"{sum(counts.undecided.values()):,}",
        f"{sum(counts.error.values()):,}",
        f"{counts.score_sum / counts.scored:z.3f}" if counts.scored else "–",
        passed,
        *([f"{found.mean:.1%}" if found is not None else "–"] if k > 1 else []),
        _share(counts.no_answer, counts.responses),
        _share(counts.truncated, counts.responses),
    ]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    _, *rest = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return "  ".join((row[0].ljust(widths[0]), *rest)).rstrip()


def _unscored_lines(total: Counts) -> list[str]:
    parts = [
        f"{count:,} {status} ({fault})"
        for status, faults in (("undecided", total.undecided), ("error", total.error))
        for fault, count in faults.most_common()
    ]
    return [f"unscored   {', '.join(parts)}"] if parts else []


def _top(counter: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:_TOP_REASONS]


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"
