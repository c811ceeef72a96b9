"""Reading patches in three forms, and applying them: equal to git where git applies them, strict where it guesses."""

from __future__ import annotations

import random
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_verifiers.patches.applying import Applied, apply_patch
from rewarden_verifiers.patches.patch import PatchError
from rewarden_verifiers.patches.reading import FORMS, read_patch

FILE = "one\ntwo\nthree\nfour\nfive\n"
DIFF = "--- a/n.txt\n+++ b/n.txt\n@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n"


def applied(text: str, **files: str) -> Applied:
    return apply_patch(read_patch(text), {name.replace("__", "/").replace("_", "."): it for name, it in files.items()})


def refused(text: str, **files: str) -> str:
    with pytest.raises(PatchError) as caught:
        applied(text, **files)
    return caught.value.reason


def block(search: str, replace: str, path: str = "n.txt") -> str:
    return f"### {path}\n<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    "text",
    [
        DIFF,
        f"Fixed:\n```diff\n{DIFF}```\nDone.",
        DIFF.replace("a/", "").replace("b/", "").replace("n.txt\n", "n.txt\t2024-01-01 10:00:00\n"),
        f"diff --git a/n.txt b/n.txt\nindex 12ab..34cd 100644\n{DIFF}",
        DIFF.replace("\n", "\r\n"),
        DIFF.replace("-2,3 +2,3", "-20,3 +20,3"),
        f"Subject: [PATCH] Write 3\n---\n n.txt | 2 +-\n\n{DIFF}--\n2.43.0\n",
        block("three", "3"),
        f"```\n{block('three', '3')}\n```",
        f"n.txt\n```\n{block('three', '3').partition(chr(10))[2]}\n```",
        f"**n.txt**\n\n{block('three', '3').partition(chr(10))[2]}",
        f"File: `n.txt`\n{block('three', '3').partition(chr(10))[2]}",
        f"```text n.txt\n{FILE.replace('three', '3')}```",
        f"```text:n.txt\n{FILE.replace('three', '3')}```",
        f'```text title="n.txt"\n{FILE.replace("three", "3")}```',
        f"n.txt\n```\n{FILE.replace('three', '3')}```",
        f"#### `n.txt`:\n\n~~~~\n{FILE.replace('three', '3')}~~~~",
    ],
)
def test_a_change_can_be_written_in_many_forms(text: str) -> None:
    assert applied(text, n_txt=FILE).files == {"n.txt": FILE.replace("three", "3")}


def test_blocks_apply_in_their_order_and_share_the_path_before_them() -> None:
    second = block("3", "III").partition("\n")[2]
    assert applied(f"{block('three', '3')}\n\nAnd:\n{second}", n_txt=FILE).files == {
        "n.txt": FILE.replace("three", "III")
    }


def test_lines_are_removed_by_an_empty_replacement() -> None:
    assert applied(block("three", "").replace("\n\n>", "\n>"), n_txt=FILE).files == {
        "n.txt": FILE.replace("three\n", "")
    }


def test_a_removed_line_that_looks_like_a_header_is_content() -> None:
    text = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old remark\n+++ b/new remark\n SELECT 1;\n"
    assert applied(text, q_sql="-- old remark\nSELECT 1;\n").files == {"q.sql": "++ b/new remark\nSELECT 1;\n"}


@pytest.mark.parametrize("counts", ["-2,3 +2,4", "-2,2 +2,2", "-2 +2", "-1,9 +1,9", "-2,0 +2,1", "-2,3 +2,30"])
@pytest.mark.parametrize(
    "text",
    [
        DIFF,
        f"```diff\n{DIFF}```\nIt writes a 3.\n- and nothing else\n",
        f"{DIFF}\nThis writes a 3.\n- and nothing else\n",
        f"<patch>\n{DIFF}</patch>\n",
        f"Subject: [PATCH] Write 3\n---\n n.txt | 2 +-\n\n{DIFF}-- \n2.43.0\n",
        DIFF.replace(" four\n", ""),
    ],
)
def test_a_hunk_with_wrong_counts_ends_where_its_lines_end(text: str, counts: str) -> None:
    assert applied(text.replace("-2,3 +2,3", counts), n_txt=FILE).files == {"n.txt": FILE.replace("three", "3")}


def test_hunks_and_files_with_wrong_counts_follow_each_other() -> None:
    second = "@@ -5,1 +5,9 @@\n-five\n+5\n+six\n"
    other = "--- /dev/null\n+++ b/m.txt\n@@ -0,0 +1,7 @@\n+one\n"
    for counts in ("-2,3 +2,4", "-2,2 +2,2"):
        text = DIFF.replace("-2,3 +2,3", counts) + second + other
        assert applied(text, n_txt=FILE).files == {"n.txt": "one\ntwo\n3\nfour\n5\nsix\n", "m.txt": "one\n"}


def test_no_change_of_a_hunk_that_states_too_few_lines_is_lost() -> None:
    text = "--- a/n.txt\n+++ b/n.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n four\n-five\n+5\n"
    assert applied(text, n_txt=FILE).files == {"n.txt": "one\n2\nthree\nfour\n5\n"}


def test_an_empty_line_in_a_hunk_is_empty_context() -> None:
    text = "--- a/n.txt\n+++ b/n.txt\n@@ -1,3 +1,3 @@\n one\n\n-two\n+2\n"
    assert applied(text, n_txt="one\n\ntwo\n").files == {"n.txt": "one\n\n2\n"}


def test_new_and_deleted_and_renamed_files_and_modes() -> None:
    text = (
        "diff --git a/new.sh b/new.sh\nnew file mode 100755\n--- /dev/null\n+++ b/new.sh\n@@ -0,0 +1 @@\n+true\n"
        "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n"
        "diff --git a/n.txt b/n.txt\ndeleted file mode 100644\n"
        "--- a/n.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"
        "diff --git a/a.py b/b.py\nsimilarity index 50%\nrename from a.py\nrename to b.py\n"
        "--- a/a.py\n+++ b/b.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
        'diff --git "a/caf\\303\\251.txt" "b/caf\\303\\251.txt"\nold mode 100644\nnew mode 100755\n'
    )
    files = {"n.txt": "one\ntwo\n", "a.py": "x = 1\n", "café.txt": "menu\n"}
    result = apply_patch(read_patch(text), files)
    assert result.files == {"new.sh": "true\n", "empty": "", "n.txt": None, "a.py": None, "b.py": "x = 2\n"}
    assert result.modes == {"new.sh": "100755", "empty": "100644", "café.txt": "100755"}


def test_the_marker_says_whether_the_last_line_ends_with_a_line_break() -> None:
    with_marker = DIFF.replace(" two\n-three\n+3\n four\n", " four\n-five\n+5\n") + "\\ No newline at end of file\n"
    with_marker = with_marker.replace("-2,3 +2,3", "-4,2 +4,2")
    assert applied(with_marker, n_txt=FILE).files == {"n.txt": "one\ntwo\nthree\nfour\n5"}
    added = with_marker.replace(
        "-five\n+5\n\\ No newline at end of file\n", "-five\n\\ No newline at end of file\n+5\n"
    )
    assert applied(added, n_txt=FILE.rstrip("\n")).files == {"n.txt": "one\ntwo\nthree\nfour\n5\n"}


def test_of_several_places_the_nearest_is_meant_and_at_equal_distance_the_later() -> None:
    hunk = "--- a/n.txt\n+++ b/n.txt\n@@ -{0} +{0} @@\n-x\n+y\n"
    lines = "x\na\nx\nb\nx\n"
    assert applied(hunk.format(3), n_txt=lines).files == {"n.txt": "x\na\ny\nb\nx\n"}
    assert applied(hunk.format(4), n_txt=lines).files == {"n.txt": "x\na\nx\nb\ny\n"}
    assert applied(hunk.format(90), n_txt=lines).files == {"n.txt": "x\na\nx\nb\ny\n"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no_patch"),
        ("--- a/n.txt\n+++ b/n.txt\n", "no_patch"),
        ("```python\nx = 1\n```", "no_patch"),
        ("## Solution\n```python\nx = 1\n```", "no_patch"),
        ("Then run it:\n```\nmake\n```", "no_patch"),
        (DIFF.replace("@@ -2,3 +2,3 @@", "@@ ... @@"), "malformed_patch"),
        (f"```diff\n{DIFF}six\n```".replace("2,3", "2,4"), "malformed_patch"),
        (DIFF.replace("-2,3", "-2,4").replace(" two\n-three\n", "").replace(" four\n", ""), "malformed_patch"),
        (DIFF.replace("2,3", "2,9").replace(" four\n", " vier\n"), "hunk_mismatch"),
        (DIFF.replace("+3", "3"), "malformed_patch"),
        (DIFF.replace("b/n.txt", "b/m.txt"), "malformed_patch"),
        ("@@ -2,3 +2,3 @@\n two\n-three\n+3\n four\n", "no_patch"),
        ("diff --git a/n.txt b/n.txt\nBinary files a/n.txt and b/n.txt differ\n", "malformed_patch"),
        ("diff --git a/n.txt b/m.txt\ncopy from n.txt\ncopy to m.txt\n", "malformed_patch"),
        (block("three", "3").replace("=======\n", ""), "malformed_patch"),
        (block("three", "3").replace("<<<<<<< SEARCH\n", "") + "\n" + block("two", "2"), "malformed_patch"),
        (block("three", "3").partition("\n")[2], "malformed_patch"),
        ("```text n.txt\none\n", "malformed_patch"),
        ("```text n.txt\none\n```\n```text ./n.txt\ntwo\n```", "hedged"),
        (DIFF.replace(" two\n", " zwei\n"), "hunk_mismatch"),
        (block("thre", "3"), "search_not_found"),
        (block(" three", "3"), "search_not_found"),
        (block("three", "three"), "no_change"),
        (block("three", "3", "m.txt"), "file_not_found"),
        (block("", "six"), "file_exists"),
        (block("", "x", "n.txt/x"), "path_conflict"),
        (
            DIFF.replace("--- a/n.txt", "--- /dev/null")
            .replace("-2,3 +2,3", "-0,0 +1")
            .replace(" two\n-three\n", "")
            .replace(" four\n", ""),
            "file_exists",
        ),
        ("--- a/n.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n", "hunk_mismatch"),
        (f"diff --git a/n.txt b/n.txt\nold mode 100644\nnew mode 120000\n{DIFF}", "unsafe_path"),
        (f"diff --git a/n.txt b/n.txt\nindex 12ab..34cd 120000\n{DIFF}", "unsafe_path"),
        *((block("three", "3", path), "unsafe_path") for path in ("/n.txt", "../n.txt", "a/../n.txt", ".git/config")),
        *((block("three", "3", path), "unsafe_path") for path in ("~/n.txt", "a\\n.txt", "a/.GIT/hooks/x")),
    ],
)
def test_a_patch_that_cannot_be_used_has_a_reason(text: str, reason: str) -> None:
    assert refused(text, n_txt=FILE) == reason


def test_search_text_that_occurs_twice_is_refused_or_replaced_everywhere() -> None:
    assert refused(block("x", "y"), n_txt="x\na\nx\n") == "search_repeated"
    lenient = apply_patch(read_patch(block("x", "y")), {"n.txt": "x\na\nx2\n"}, lenient=True)
    assert lenient.files == {"n.txt": "y\na\ny2\n"}


def test_work_and_size_are_bounded() -> None:
    many = "\n".join(block("x", "y" * 1_000, "n.txt") for _ in range(3))
    with pytest.raises(PatchError, match="too_expensive"):
        apply_patch(read_patch(many), {"n.txt": "x\n" * 10_000}, lenient=True)
    assert refused("x" * 1_000_001) == "too_expensive"
    assert refused("\n".join(block("", "x", f"{n}.txt") for n in range(2_001))) == "too_expensive"
    hunks = "".join(f"@@ -{90_000 - n} +1 @@\n-x\n+y\n" for n in range(1_900))
    assert refused(f"--- a/n.txt\n+++ b/n.txt\n{hunks}", n_txt="x\n" * 100_000) == "too_expensive"


def test_only_accepted_forms_are_read() -> None:
    with pytest.raises(PatchError, match="no_patch"):
        read_patch(DIFF, ("search_replace", "files"))


@given(st.text(alphabet="-+@ \n\\abn/.<>=SEARCHRPL`#0123,", max_size=200))
def test_reading_never_fails_otherwise(text: str) -> None:
    for form in FORMS:
        for prefix in ("", "--- a/n.txt\n+++ b/n.txt\n@@ -1 +1 @@\n", "n.txt\n<<<<<<< SEARCH\n", "```n.txt\n"):
            with suppress(PatchError):
                apply_patch(read_patch(prefix + text, (form,)), {"n.txt": FILE})


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_diff_of_git_leads_to_the_new_files(tmp_path: Path) -> None:
    chance = random.Random(27)
    before, after = ({f"f{n}.txt": content(chance) for n in range(150)} for _ in range(2))
    for n in range(10):
        del before[f"f{n}.txt"], after[f"f{n + 10}.txt"]
        after[f"f{n + 20}.txt"] = before[f"f{n + 20}.txt"]
    for folder, files in (("a", before), ("b", after)):
        (tmp_path / folder).mkdir()
        for name, text in files.items():
            (tmp_path / folder / name).write_text(text, encoding="utf-8")
    command = ["git", "diff", "--no-index", "--no-prefix", "--no-renames", "a", "b"]
    diff = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert diff.count("diff --git") > 100
    changed = apply_patch(read_patch(diff), before).files
    assert {name: text for name, text in ({**before, **changed}).items() if text is not None} == after


def content(chance: random.Random) -> str:
    lines = chance.choices(["a", "b", "c", "", "  d", "-- e", "++ f"], k=chance.randrange(1, 25))
    return "\n".join(lines) + chance.choice(["\n", ""])
