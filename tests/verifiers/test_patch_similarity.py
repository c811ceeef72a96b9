"""`patch_similarity`: equal to `difflib` and to the published scores, and bounded where these are not."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.patches.gestalt import Budget, TooMuchWork, ratio, unified
from rewarden_verifiers.patches.patch_similarity import PatchSimilarityParams, expect, patch_similarity
from rewarden_verifiers.patches.similarity_reference import PatchReference

STRICT = PatchSimilarityParams()
SWE_RL = PatchSimilarityParams(mode="swe_rl", malformed=-1, tag="solution", forms=("search_replace",))
PUBLISHED = [json.loads(line) for line in (Path(__file__).parent / "swe_rl.jsonl").read_text().splitlines()]
FILES = {"a.py": "x = 1\ny = 2\nz = 3\n", "b.py": "pass\n"}
REFERENCE = PatchReference(files=FILES, after={"a.py": "x = 1\ny = 4\nz = 3\n"})

SHORT = st.text(alphabet="abc\n", max_size=40)


def judged(response: str, reference: PatchReference = REFERENCE, params: PatchSimilarityParams = STRICT) -> Outcome:
    return patch_similarity(response, expect(reference, params), params)


def whole(content: str, path: str = "a.py") -> str:
    return f"```{path}\n{content}```"


@given(SHORT, SHORT)
def test_the_ratio_is_difflibs(a: str, b: str) -> None:
    assert ratio(a, b, Budget(10**9)) == difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()


@given(st.text(alphabet="ab\n\r\x0c", max_size=60), st.text(alphabet="ab\n\r\x0c", max_size=60), st.integers(0, 4))
def test_the_diff_is_difflibs(old: str, new: str, context: int) -> None:
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=context))
    assert unified(old, new, context, Budget(10**9)) == "\n".join(lines[2:])


def test_frequent_lines_of_long_files_are_compared_as_difflib_does() -> None:
    old = "".join(f"line {n}\n\n" for n in range(300))
    new = old.replace("line 7\n", "line seven\n").replace("line 250\n\n", "\n\n")
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm=""))
    assert unified(old, new, 3, Budget(10**9)) == "\n".join(lines[2:])


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row["title"])
def test_the_mode_swe_rl_gives_the_published_score(row: dict[str, object]) -> None:
    reference = PatchReference(files=row["files"], after=row["after"])  # type: ignore[arg-type]
    outcome = judged(str(row["response"]).partition("</think>")[2], reference, SWE_RL)
    assert outcome.score == pytest.approx(row["published"], abs=1e-12)


def test_an_edit_in_the_right_place_earns_the_lines_around_it_only_in_the_mode_swe_rl() -> None:
    beside = whole("x = 1\ny = 2  #\nz = 3\n")
    loose = judged(beside, params=PatchSimilarityParams(mode="swe_rl")).score
    strict = judged(beside).score
    assert loose is not None
    assert strict is not None
    assert strict < loose


@given(st.lists(st.sampled_from(["x = 1", "y = 2", "z = 3", "", "  x"]), min_size=1, max_size=6))
def test_strict_pays_at_most_what_is_published_and_all_only_for_the_expected_files(lines: list[str]) -> None:
    response = whole("\n".join(lines) + "\n")
    strict, loose = judged(response), judged(response, params=PatchSimilarityParams(mode="swe_rl"))
    assert strict.score is not None
    assert loose.score is not None
    assert 0 <= strict.score <= loose.score <= 1
    expected = judged(whole("x = 1\ny = 4\nz = 3\n"))
    assert expected.score == 1
    assert strict.score < 1


def test_a_removed_file_and_one_too_many_count_in_the_mean() -> None:
    reference = PatchReference(files=FILES, after={"a.py": None, "c.py": "new\n"})
    removal = "--- a/a.py\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-x = 1\n-y = 2\n-z = 3\n"
    outcome = judged(removal, reference)
    assert (outcome.score, outcome.passed) == (0.5, False)
    assert {path: part.score for path, part in outcome.components.items()} == {"a.py": 1.0, "c.py": 0.0}


def test_windows_line_breaks_of_the_files_do_not_matter() -> None:
    crlf = PatchReference(files={"a.py": "x = 1\r\ny = 2\r\n"}, after={"a.py": "x = 1\r\ny = 4\r\n"})
    block = "a.py\n<<<<<<< SEARCH\ny = 2\n=======\ny = 4\n>>>>>>> REPLACE"
    assert judged(block, crlf).passed


def test_comparisons_stop_at_their_budget() -> None:
    with pytest.raises(TooMuchWork):
        ratio("ab" * 9_000, "ba" * 4_500 + "abb" * 3_000, Budget(3_000_000))
    with pytest.raises(TooMuchWork):
        unified("\n".join("ab" * 90), "\n".join("ba" * 45 + "abb" * 30), 3, Budget(1_000))


def test_natural_diffs_of_the_greatest_length_are_within_the_budget() -> None:
    words = [f"name_{n % 97} = call_{n % 31}({n * n % 1009})" for n in range(3_000)]
    old, new = "\n".join(words[:2_100]), "\n".join(words[700:2_600:2] + words[:1_100])
    assert 45_000 < len(old) < 50_000
    assert 0 < ratio(old, new, Budget(3_000_000)) < 1


@pytest.mark.parametrize(
    "reference",
    [
        PatchReference(files=FILES),
        PatchReference(files=FILES, patch="x", after={}),
        PatchReference(files=FILES, patch="no patch"),
        PatchReference(files=FILES, after={}),
        PatchReference(files=FILES, after={"a.py": FILES["a.py"]}),
        PatchReference(files={"../a.py": "x\n"}, after={"../a.py": "y\n"}),
        PatchReference(files=FILES, after={"/etc/passwd": "y\n"}),
        PatchReference(files=FILES, after={"a.py": "".join(f"{n}\n" for n in range(12_000))}),
        PatchReference(files={f"{n}.py": "" for n in range(1_001)}, after={"0.py": "x\n"}),
    ],
)
def test_a_reference_that_cannot_be_used_is_at_fault(reference: PatchReference) -> None:
    with pytest.raises(InvalidReference):
        expect(reference, STRICT)


@pytest.mark.parametrize(
    "params", [{"forms": ()}, {"forms": ("diff", "diff")}, {"malformed": -2}, {"tag": "a b"}, {"threshold": 0}]
)
def test_parameters_out_of_bounds_are_refused(params: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must"):
        PatchSimilarityParams(**params)  # type: ignore[arg-type]
