"""Rescoring by a routing file: references in the data's own form, columns of metadata, and going on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import Unavailable
from rewarden.routing import Routing, routing_from_json
from rewarden.types import Use
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import Watcher
from tests.rescore.conftest import Desk
from tests.rescore.toy import ToyClient


def routing(*routes: dict[str, Any]) -> Routing:
    return routing_from_json({"route": list(routes)}, "routes.toml")


class Told(Watcher):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def plan(self, lines: Any) -> None:
        self.lines = list(lines)


async def test_fields_of_metadata_are_found_in_the_row_and_in_extra_info(desk: Desk) -> None:
    desk.write(
        [
            {"response": "yes", "data_source": "a", "kind": "x"},
            {"response": "yes", "data_source": "b", "extra_info": {"level": 3}},
            {"response": "yes", "data_source": ["c"]},
            {"response": "yes", "data_source": "d"},
        ]
    )
    routes = routing(
        {"metadata.kind": "x", "use": "yes"}, {"metadata.level": "3", "use": "yes"}, {"data_source": "c", "use": "yes"}
    )
    told = Told()
    await desk.rescore(routing=routes, watcher=told)
    assert [row["verdict"]["status"] for row in desk.rows()] == ["scored", "scored", "scored", "error"]
    assert any("metadata.kind" in line and "← kind" in line and "(guessed)" in line for line in told.lines)
    assert any("metadata.level" in line and "← extra_info.level" in line for line in told.lines)
    assert any("no route of routes.toml matches the data source 'd'" in line for line in told.lines)


async def test_columns_that_are_named_go_before_guesses(desk: Desk) -> None:
    desk.write([{"response": "yes", "kind": "y", "other": "x"}])
    await desk.rescore(routing=routing({"metadata.kind": "x", "use": "yes"}), columns={"metadata.kind": "other"})
    assert desk.rows()[0]["verdict"]["status"] == "scored"


async def test_a_reference_that_is_not_in_its_form_is_its_rows_error(desk: Desk) -> None:
    desk.write([{"response": "yes", "answer": '{"a": 1}'}, {"response": "yes", "answer": "{"}])
    await desk.rescore(routing=routing({"use": "yes", "reference_form": "json"}))
    one, two = (row["verdict"] for row in desk.rows())
    assert one["status"] == "scored"
    assert (two["status"], two["fault"]) == ("error", "caller")
    assert "is not JSON" in two["feedback"]


async def test_a_run_goes_on_with_the_same_routes_only(desk: Desk) -> None:
    desk.write([{"response": f"yes {n}", "data_source": "a", "n": n} for n in range(20)])
    routes = routing({"data_source": "a", "use": "yes"}, {"data_source": "b", "use": "yes"})
    with pytest.raises(Unavailable):
        await desk.rescore(ToyClient(break_at=5), routing=routes)
    for changed in (
        routing({"data_source": "a", "use": "yes"}),
        routing({"data_source": "a", "use": "yes", "reference_form": "one"}, {"data_source": "b", "use": "yes"}),
        Routing.by_source([("a", Use(name="yes")), ("b", Use(name="yes"))]),
    ):
        with pytest.raises(RescoreError, match="had other inputs or options"):
            await desk.rescore(routing=changed, resume=True)
    client = ToyClient()
    await desk.rescore(client, routing=routes, resume=True)
    assert len(client.seen) == 15
    assert all(row["verdict"]["status"] == "scored" for row in desk.rows())


async def test_a_judge_that_is_missing_stops_only_a_run_whose_rows_need_it(desk: Desk, tmp_path: Path) -> None:
    desk.write([{"response": "yes", "data_source": "a"}])
    needless = routing({"data_source": "z", "use": "nobody"}, {"use": "yes"})
    told = Told()
    await desk.rescore(routing=needless, watcher=told)
    assert any("1 more routes" in line for line in told.lines)
    with pytest.raises(RescoreError, match=r"routes\.toml: nobody: there is no verifier"):
        await desk.rescore(routing=routing({"data_source": "a", "use": "nobody"}), force=True)
