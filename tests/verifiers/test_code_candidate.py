"""Finding the program in a response, and putting the prompt's code in front of one that only continues it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden_verifiers.execution.candidate import (
    MAX_CODE,
    Candidate,
    Missing,
    TooManyFences,
    blocks,
    find,
    labels_of,
    rules_of,
)
from rewarden_verifiers.execution.completion import complete
from rewarden_verifiers.execution.reference import CodeReference, Test
from tests.verifiers.counting import HOSTILE, steps


def found(text: str, extraction: Any = "strict", language: str = "python", **options: Any) -> Candidate | Missing:
    unclosed = options.pop("unclosed", "refuse")
    return find(text, rules_of(extraction), labels_of(language, **options), unclosed)


def code(text: str, extraction: Any = "strict", language: str = "python", **options: Any) -> str | None:
    answer = found(text, extraction, language, **options)
    return answer.code if isinstance(answer, Candidate) else None


ONE = "```python\nprint(1)\n```"
TWO = "```python\nprint(2)\n```"


@pytest.mark.parametrize(
    ("text", "extraction", "program"),
    [
        (f"First {ONE}\nthen\n{TWO}\n", "strict", "print(2)\n"),
        (f"{ONE}\n{TWO}", "first_block", "print(1)\n"),
        (f"{ONE}\n{TWO}", "all_blocks", "print(1)\n\nprint(2)\n"),
        (f"{ONE}\nIt prints:\n```\n1\n```", "strict", "print(1)\n"),
        (f"{ONE}\n```text\n1\n```\n```bash\nls\n```", "strict", "print(1)\n"),
        ("```\nprint(1)\n```", "strict", "print(1)\n"),
        ("```Python3\nprint(1)\n```", "strict", "print(1)\n"),
        ('``` python title="a.py"\nprint(1)\n```', "strict", "print(1)\n"),
        ("```{.python}\nprint(1)\n```", "strict", "print(1)\n"),
        ("```python:main.py\nprint(1)\n```", "strict", "print(1)\n"),
        ("~~~py\nprint(1)\n~~~", "strict", "print(1)\n"),
        ("````python\nprint('''\n```\n''')\n````", "strict", "print('''\n```\n''')\n"),
        ("1. So:\n   ```python\n   if x:\n       y\n   ```\n", "strict", "if x:\n    y\n"),
        ('```python\ndef f():\n    """\n    ```\n    f()\n    ```\n    """\n```', "strict", None),
        ("<answer>print(1)</answer>", "answer_tag", "print(1)"),
        (f"<answer>\n{ONE}\n{TWO}\n</answer>", "answer_tag", "print(2)\n"),
        ("<code>x</code> <code>y</code>", ({"tag": "code"},), "y"),
        (f"{ONE}\n<answer>print(3)</answer>", "lax", "print(1)\n"),
        ("<answer>print(3)</answer>", "lax", "print(3)"),
        ("    return 1\n", "lax", "    return 1\n"),
        (f"{ONE}", "whole", ONE),
        ("a\r\n```python\r\nprint(1)\r\n```\r\n", "strict", "print(1)\r\n"),
    ],
)
def test_where_programs_stand(text: str, extraction: Any, program: str | None) -> None:
    if program is None:  # a fence within a docstring, deeper than the block's own, is part of the code
        program = text.removeprefix("```python\n").removesuffix("```")
    assert code(text, extraction) == program


@pytest.mark.parametrize(
    ("text", "extraction", "reason"),
    [
        ("", "lax", "no_answer"),
        ("print(1)", "strict", "no_answer"),
        ("```text\nprint(1)\n```", "strict", "no_answer"),
        ("```javascript\nlet x\n```", "strict", "no_answer"),
        ("use ```print(1)``` here", "strict", "no_answer"),
        ("```python\nprint(1)", "strict", "unclosed_fence"),
        ("```python\nprint(1)", "lax", "unclosed_fence"),
        (f"{ONE}\n```python\nprint(", "strict", "unclosed_fence"),
        ("```python\n\n  \n```", "strict", "empty_code"),
        ("<answer> </answer>", "answer_tag", "empty_code"),
        ("<answer>print(1)", "answer_tag", "no_answer"),
        ("</answer>print(1)<answer>", "answer_tag", "no_answer"),
        ("```python\n" + "#" * (MAX_CODE + 1) + "\n```", "strict", "code_too_long"),
        ("```\n" * 20_001, "strict", "too_many_fences"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_where_there_is_no_program(text: str, extraction: Any, reason: str) -> None:
    answer = found(text, extraction)
    assert isinstance(answer, Missing)
    assert answer.reason == reason


def test_a_fence_that_never_closes_counts_where_that_is_wanted() -> None:
    assert code("```python\nprint(1)\n", unclosed="accept") == "print(1)\n"
    assert code(f"{ONE}\n```python\nprint(2)", unclosed="accept") == "print(2)"
    assert code(f"{ONE}\n```python\nprint(2)", "first_block") == "print(1)\n"


@pytest.mark.parametrize(
    ("label", "language", "known"),
    [
        ("cpp", "cpp", True),
        ("c++", "cpp", True),
        ("CPP", "c++", True),
        ("c", "cpp", False),
        ("js", "javascript", True),
        ("sh", "bash", True),
        ("zig", "zig", True),
        ("rust", "zig", False),
    ],
)
def test_fences_name_the_language(label: str, language: str, known: bool) -> None:
    assert (code(f"```{label}\nx\n```", language=language) == "x\n") is known


def test_further_labels_may_be_named() -> None:
    assert code("```solution\nx\n```", extra=("Solution",)) == "x\n"


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert code("```python\nx = '\ud800'\n```") == "x = '?'\n"


@pytest.mark.parametrize("extraction", ["last", (), ("strict",), ({"tag": "a b"},), ({"tags": "x"},), ({},)])
def test_unknown_rules_are_refused(extraction: Any) -> None:
    with pytest.raises(InvalidParams):
        rules_of(extraction)


FENCES = ("```", "```\n", "```python\n", "`", " ```\n", "~~~\n", "~~~", "```a```b", "   ", "\t```\n", "x```", "\r```\r")


@pytest.mark.parametrize("unit", [*FENCES, *HOSTILE])
@pytest.mark.parametrize("extraction", ["strict", "lax", "all_blocks", "answer_tag"])
def test_work_grows_no_faster_than_the_response(unit: str, extraction: str) -> None:
    def work(count: int) -> int:
        return steps(lambda: found("```python\n" + unit * count, extraction))

    assert work(3200) <= 4.6 * work(800) + 2000


@pytest.mark.parametrize("unit", ["`", "```", "```\n", "x```\n", " ", "\n", "~~~\n```\n", "<answer>", "</answer>"])
def test_ten_megabytes_of_anything_are_read(unit: str) -> None:
    text = unit * (10_000_000 // len(unit))
    assert isinstance(found(text, ("last_block", "answer_tag")), Missing)


@given(st.text(alphabet="`~\n\r \tpython<>answer/a1{}.", max_size=80))
def test_no_response_raises(text: str) -> None:
    for extraction in ("strict", "lax", "all_blocks"):
        assert isinstance(found(text, extraction), (Candidate, Missing))


@given(st.lists(st.text(alphabet="ab \n#", max_size=20), min_size=1, max_size=5))
def test_what_stands_in_a_block_is_found_unchanged(programs: list[str]) -> None:
    text = "".join(f"words\n```python\n{program}\n```\n" for program in programs)
    assert [block.code for block in blocks(text)] == [f"{program}\n" for program in programs]


def test_there_are_only_so_many_fences() -> None:
    with pytest.raises(TooManyFences):
        blocks("```\n" * 10_001)


# --- completions -------------------------------------------------------------------------------------------------

PREFIX = (
    'from typing import List\n\n\ndef helper(x: int) -> int:\n    return x\n\n\ndef f(x: int) -> int:\n    """Doc."""\n'
)


def reference(prefix: str = PREFIX, language: str = "python", entry_point: str | None = "f") -> CodeReference:
    test = Test(type="stdio", stdout="")
    return CodeReference(language=language, tests=(test,), prefix=prefix, entry_point=entry_point)


def completed(code: str, mode: Any = "auto", **options: Any) -> Candidate:
    return complete(Candidate(code, "whole"), reference(**options), mode)


def test_a_body_continues_the_prompt() -> None:
    made = completed("    return helper(x) + 1\n")
    assert made.completed
    namespace: dict[str, Any] = {}
    exec(made.code, namespace)  # noqa: S102 - this test's own program
    assert namespace["f"](1) == 2


@pytest.mark.parametrize("prefix", [PREFIX, "import math\ndef f(x):\n", "class A:\n    def f(self):\n        # here\n"])
def test_a_whole_program_stands_behind_the_prompts_helpers(prefix: str) -> None:
    made = completed("from typing import List\n\ndef f(x):\n    return x + 1\n", prefix=prefix)
    assert not made.completed
    namespace: dict[str, Any] = {}
    exec(made.code, namespace)  # noqa: S102 - this test's own program
    assert namespace["f"](1) == 2
    assert ("helper" in namespace) is (prefix is PREFIX)


def test_the_caller_may_decide() -> None:
    assert completed("def f(x): ...", "always").code == PREFIX + "def f(x): ..."
    assert completed("    return 1", "never").code == "    return 1"
    assert completed("    return 1", prefix="").code == "    return 1"


def test_a_target_is_what_must_be_defined() -> None:
    test = Test(type="call", target="Solution.f", returns=1)
    whole = CodeReference(language="python", tests=(test,), prefix="class Solution:\n    def f(self):\n")
    assert complete(Candidate("        return 1\n", "whole"), whole, "auto").completed
    assert not complete(Candidate("class Solution:\n    def f(self): return 1\n", "whole"), whole, "auto").completed


def test_other_languages_go_by_the_prompts_last_line() -> None:
    prefix = "#include <stdio.h>\nint add(int a, int b) {\n"
    made = completed("  return a + b;\n}\n", prefix=prefix, language="c", entry_point="add")
    assert made.completed
    whole = "int add(int a,  int b) {\n  return a + b;\n}\n"
    assert completed(whole, prefix=prefix, language="c", entry_point="add").code == whole


def test_a_language_with_a_shim_goes_by_the_name_and_keeps_the_prompts_includes() -> None:
    prefix = "#include <vector>\nint add(int a, int b) {\n"
    assert completed("  return add(b, a);\n}\n", prefix=prefix, language="cpp", entry_point="add").completed
    whole = "long add(long x, long y) {\n  return x + y;\n}\n"
    assert completed(whole, prefix=prefix, language="cpp", entry_point="add").code == f"#include <vector>\n{whole}"


def test_a_continuation_ends_at_a_stop_text_and_closes_what_the_tests_close() -> None:
    tests = (Test(type="assert", code="}\nint main() {}"),)
    prompt = CodeReference(language="cpp", tests=tests, prefix="int f() {\n", entry_point="f", stop=("\n}", "//"))
    code = complete(Candidate("  return 1;\n}\nint x;", "whole"), prompt, "auto").code
    assert code == "int f() {\n  return 1;\n}\n"
