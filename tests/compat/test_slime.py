"""slime's remote reward, as its client calls it."""

from __future__ import annotations

from typing import Any

from tests.compat.conftest import Start


def body(response: str, label: Any = "B") -> dict[str, Any]:
    """Returns what slime's `remote_rm` sends."""
    return {"prompt": [{"role": "user", "content": "1+1?"}], "response": response, "label": label}


RM = "/compat/slime/choice/rm"
"""The route with its judge in the address."""


async def test_the_answer_is_the_reward(start: Start) -> None:
    server = await start()
    for sent, reward in ((body("Answer: B"), 1.0), (body("Answer: C"), 0.0), (body("é Answer: B", label=["B"]), 1.0)):
        answer = await server.http.post(RM, json=sent)
        assert (answer.status_code, answer.json()) == (200, reward)
    answer = await server.http.post(RM, json=body("Answer: B") | {"prompt": "1+1?"})
    assert answer.json() == 1.0


async def test_no_score_is_a_status_that_says_why_unless_a_number_was_given(start: Start) -> None:
    server = await start()
    bad = body("Answer: B", label="?!")
    answer = await server.http.post(RM, json=bad)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "unscored")
    assert "fault reference" in answer.json()["error"]["message"]
    answer = await server.http.post(f"{RM}?unscored=-1", json=bad)
    assert (answer.status_code, answer.json()) == (200, -1.0)


async def test_an_object_for_a_reward_key(start: Start) -> None:
    server = await start()
    answer = await server.http.post(f"{RM}?form=object", json=body("Answer: B"))
    assert answer.json()["score"] == 1.0
    answer = await server.http.post(f"{RM}?form=dict", json=body("Answer: B"))
    assert (answer.status_code, answer.json()["error"]["details"]["path"]) == (400, "form")


async def test_a_label_may_name_its_data_source(start: Start) -> None:
    server = await start()
    label = {"data_source": "sums", "reference": "B"}
    answer = await server.http.post(RM, json=body("Answer: B", label=label))
    assert answer.json() == 1.0
