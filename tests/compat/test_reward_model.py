"""A reward model's routes, read as vLLM's, SGLang's and verl's clients read them."""

from __future__ import annotations

import asyncio
from json import dumps
from typing import Any

import httpx

from tests.compat.conftest import Running, Start
from tests.server.conftest import Gates, gate, plugin

__all__ = ["gate", "plugin"]

AT = "/compat/reward_model"


async def post(server: Running, path: str, **body: Any) -> httpx.Response:
    return await server.http.post(AT + path, json=body)


async def test_who_reads_the_last_probability_of_classify_reads_the_score(start: Start) -> None:
    server = await start()
    answer = await post(
        server, "/math/classify", model="Skywork/RM", input="\\boxed{½}", reference="1/2", use_activation=False
    )
    body = answer.json()
    assert answer.status_code == 200
    assert body["data"][-1]["probs"][-1] == 1.0
    assert body["data"] == [{"index": 0, "label": "LABEL_0", "probs": [1.0], "num_classes": 1}]
    assert (body["object"], body["model"], set(body)) == (
        "list",
        "math",
        {"id", "object", "created", "model", "data", "usage"},
    )


async def test_every_shape_has_the_scores_in_the_order_of_the_inputs(start: Start) -> None:
    server = await start()
    texts = {"input": ["\\boxed{2}", "\\boxed{3}", "\\boxed{3}"], "reference": ["2", "2", "3"]}
    scores = [1.0, 0.0, 1.0]
    classes = (await post(server, "/v1/classify", model="math", **texts)).json()["data"]
    assert [item["probs"][-1] for item in classes] == scores
    embeddings = (await post(server, "/v1/embeddings", model="math", **texts)).json()["data"]
    assert [item["embedding"][-1] for item in embeddings] == scores
    pooled = (await post(server, "/pooling", model="math", **texts)).json()["data"]
    assert [item["data"][-1] for item in pooled] == scores
    own = (await post(server, "/math/classify", text=texts["input"], reference=texts["reference"])).json()
    assert [item["embedding"][0] for item in own] == scores
    one = (await post(server, "/math/classify", text="\\boxed{2}", reference="2")).json()
    assert one["embedding"] == [1.0]


async def test_score_holds_one_reference_or_each_against_the_responses(start: Start) -> None:
    server = await start()
    for path in ("/score", "/v1/score", "/math/score", "/math/v1/score"):
        model = {} if "math" in path else {"model": "math"}
        one = await post(server, path, text_1="2", text_2=["\\boxed{2}", "\\boxed{3}"], **model)
        each = await post(server, path, queries=["2", "3"], documents=["\\boxed{3}", "\\boxed{3}"], **model)
        assert [item["score"] for item in one.json()["data"]] == [1.0, 0.0], path
        assert [item["score"] for item in each.json()["data"]] == [0.0, 1.0], path


async def test_text_1_can_be_the_prompt_instead(start: Start) -> None:
    server = await start()
    answer = await post(
        server, "/math/score?text_1=prompt", text_1="What is 1+1?", text_2=["\\boxed{2}", "\\boxed{3}"], reference="3"
    )
    assert [item["score"] for item in answer.json()["data"]] == [0.0, 1.0]


async def test_what_the_model_wrote_is_what_follows_the_last_question(start: Start) -> None:
    server = await start()
    messages = [
        {"role": "user", "content": "As in \\boxed{1}: 1+1?"},
        {"role": "assistant", "content": "Is it \\boxed{2}?"},
        {"role": "user", "content": "No."},
        {"role": "assistant", "content": "Then \\boxed{3}."},
    ]
    answer = await post(server, "/math/classify", messages=messages, reference="3")
    assert answer.json()["data"][0]["probs"] == [1.0]
    unanswered = await post(server, "/math/classify", messages=messages[:3], reference="3")
    assert unanswered.status_code == 400
    assert "must end with the model's response" in unanswered.text


async def test_the_address_says_where_the_response_lies_in_a_rendered_chat(start: Start) -> None:
    server = await start()
    chat = "<|im_start|>user\nHow long?<|im_end|>\n<|im_start|>assistant\nabcde<|im_end|>\n"
    five = {"params": dumps({"min": 5, "max": 5, "unit": "characters"})}
    markers = {"after": "<|im_start|>assistant\n", "until": "<|im_end|>", **five}
    cut = await server.http.post(f"{AT}/length/classify", params=markers, json={"input": chat})
    whole = await server.http.post(f"{AT}/length/classify", params=five, json={"input": chat})
    assert cut.json()["data"][0]["probs"] == [1.0]
    assert whole.json()["data"][0]["probs"] == [0.0]
    unmarked = await server.http.post(f"{AT}/length/classify", params=markers, json={"input": "abcde"})
    assert unmarked.status_code == 400
    assert "after" in unmarked.text


async def test_without_a_score_there_is_no_number_and_what_cannot_pass_is_not_to_be_asked_again(start: Start) -> None:
    server = await start()
    rows = {"input": ["\\boxed{2}", "\\boxed{3}"], "reference": ["2", "\\frac{1}{"]}
    answer = await post(server, "/math/classify", **rows)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "unscored")
    assert "sample 1" in answer.text
    chosen = await post(server, "/math/classify?unscored=-1", **rows)
    assert [item["probs"][-1] for item in chosen.json()["data"]] == [1.0, -1.0]


async def test_a_server_that_is_full_says_so_with_a_status_that_clients_try_again(start: Start, gate: Gates) -> None:
    server = await start({"engine.max_samples": 2})
    waiting = asyncio.ensure_future(server.verify({"response": "a"}, {"response": "b"}, use=gate.use))
    await gate.entered()
    refused = await post(server, "/math/classify", input="\\boxed{2}", reference="2")
    assert (refused.status_code, "Retry-After" in refused.headers) == (503, True)
    gate.open()
    assert (await waiting).status_code == 200
    again = await post(server, "/math/classify", input="\\boxed{2}", reference="2")
    assert again.json()["data"][0]["probs"] == [1.0]


REFUSED: list[tuple[str, dict[str, Any], int, str]] = [
    ("/classify", {"model": "Skywork/RM", "input": "x"}, 404, "neither a verifier nor a recipe"),
    ("/math/classify", {"input": [1, 2, 3]}, 400, "token ids"),
    ("/math/classify", {"input": []}, 400, "input"),
    ("/math/classify", {}, 400, "input"),
    ("/math/classify", {"input": ["a", "b"], "reference": ["1"]}, 400, "1 values for 2 inputs"),
    ("/math/classify", {"input": "a", "prompt": 7}, 400, "prompt"),
    ("/math/classify", {"messages": "hello"}, 400, "messages"),
    ("/math/score", {"text_1": ["1", "2"], "text_2": "1"}, 400, "1:1, 1:N or N:N"),
    ("/math/score?text_1=both", {"text_1": "1", "text_2": "1"}, 400, "'reference' or 'prompt'"),
]


async def test_what_cannot_be_read_is_refused_by_name(start: Start) -> None:
    server = await start()
    for path, body, status, told in REFUSED:
        answer = await post(server, path, **body)
        assert (answer.status_code, told in answer.text) == (status, True), (path, body, answer.text)


async def test_the_probes_of_a_model_server_are_answered(start: Start) -> None:
    server = await start()
    assert (await server.http.get(f"{AT}/health")).status_code == 200
    listed = [model["id"] for model in (await server.http.get(f"{AT}/v1/models")).json()["data"]]
    assert listed[0] == "rewarden"
    assert {"math", "length"} <= set(listed)
    only = (await server.http.get(f"{AT}/math/v1/models")).json()
    assert [model["id"] for model in only["data"]] == ["math"]
