"""The recipes of text-to-SQL: every case, on real databases, and what holds for all of them."""

from __future__ import annotations

import pytest

from rewarden.types import Sample, Use
from rewarden_verifiers.cases import Case, load_cases
from rewarden_verifiers.registry import Registry
from tests.verifiers.direct import direct_judge
from tests.verifiers.test_cases import check

REGISTRY = Registry()
JUDGE = direct_judge(REGISTRY)
NAMES = [name for name in REGISTRY.recipe_names() if "sql" in name]
CASES = [case for name in NAMES for case in load_cases(REGISTRY.get(name))]


def test_every_published_system_has_its_recipe() -> None:
    assert set(NAMES) == {
        "arctic_text2sql_r1",
        "artist_sql",
        "cognisql_r1_zero",
        "reasoning_sql",
        "skyrl_sql",
        "sql_r1",
        "think2sql",
    }


@pytest.mark.parametrize("case", CASES, ids=[f"{case.verifier}: {case.title}" for case in CASES])
async def test_the_case_holds(case: Case) -> None:
    assert await check(case, JUDGE) == []


def test_every_case_names_its_number() -> None:
    assert [
        case.title for case in CASES for expect in case.expects if "score" not in expect and "fault" not in expect
    ] == []


@pytest.mark.parametrize("name", NAMES)
async def test_a_query_in_a_fence_within_an_answer_tag_is_found(name: str) -> None:
    database = {"tables": {"city": {"columns": ["name"], "rows": [["Lyon"], ["Pisa"]]}}}
    tag = "solution" if name == "skyrl_sql" else "answer"
    thought = "think" if name in ("skyrl_sql", "sql_r1", "artist_sql") else "reasoning"
    query = "SELECT name FROM city WHERE name > 'M'"
    response = f"<{thought}>By letter.</{thought}><{tag}>```sql\n{query}\n```</{tag}>"
    reference = {"database": database, "sql": query}
    (verdict,) = await JUDGE(Use(name=name), [Sample(response=response, reference=reference)])
    assert (verdict["status"], verdict["passed"]) == ("scored", True)
