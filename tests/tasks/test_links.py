"""The places to which links of a policy's lead."""

from __future__ import annotations

import pytest

from rewarden_verifiers.tasks.carried import Artifacts, Carried
from rewarden_verifiers.tasks.links import Links

TO_TESTS = {
    "absolute": {"app/x": "/tests/expected"},
    "relative": {"app/x": "../tests/expected"},
    "the folder": {"app/x": "/tests"},
    "with dots": {"app/x": ".././/tests/./expected"},
    "above the root": {"app/x": "../../../../tests/expected"},
    "over another": {"app/x": "y", "app/y": "/tests/expected"},
    "over the root": {"app/x": "r/tests/expected", "app/r": "/"},
    "over a folder": {"app/x": "in/d/tests/expected", "app/in/d": "../.."},
    "by processes": {"app/x": "/proc/self/root/tests/expected"},
    "by processes and another": {"app/x": "p/self/root/tests/expected", "app/p": "/proc"},
    "by an open file": {"app/x": "/dev/fd/3"},
    "by an open file and another": {"app/x": "d/fd/3", "app/d": "../dev"},
    "by the input": {"app/x": "/dev/stdin"},
    "up from a link of the image's": {"app/x": "/var/run/../tests/expected"},
    "up from another": {"app/x": "v/../tests/expected", "app/v": "/var/run"},
    "in a circle": {"app/x": "y", "app/y": "x"},
    "the reward": {"app/x": "/logs/verifier/reward.txt"},
}
HONEST = {
    "within": {"app/x": "y", "app/y": "in/z"},
    "up": {"app/in/bin/x": "../y.js"},
    "programs": {"app/x": "/usr/bin/python3"},
    "a name that begins so": {"app/x": "/tests.txt"},
    "nothing": {"app/x": "gone"},
    "devices": {"app/x": "/dev/null", "app/y": "/dev/stdout", "app/z": "/dev/shm/x"},
}


@pytest.mark.parametrize("name", TO_TESTS)
def test_a_link_to_the_verifier_s_files_is_astray(name: str) -> None:
    for filter_ in (Carried((), shared=False), Carried((), shared=True), Artifacts(["/app"])):
        assert "app/x" in Links(TO_TESTS[name]).astray(filter_.allows)


@pytest.mark.parametrize("name", HONEST)
def test_other_links_are_carried(name: str) -> None:
    assert Links(HONEST[name]).astray(Carried((), shared=False).allows) == frozenset()


def test_links_that_take_too_long_are_astray_and_those_before_them_are_not() -> None:
    long = "/".join(["a"] * 900)
    slow = {f"{number}": f"{number + 1}/{long}" for number in range(5000)}
    astray = Links({"app/x": "y", **slow}).astray(Carried((), shared=False).allows)
    assert "app/x" not in astray
    assert "4000" in astray


def test_links_of_artifacts_lead_to_artifacts() -> None:
    own = Artifacts(["/app/out", "/data"])
    links = Links({"app/out/a": "b", "app/out/c": "/data/d", "app/out/e": "/etc/passwd", "app/out/f": "../in"})
    assert links.astray(own.allows) == {"app/out/e", "app/out/f"}
