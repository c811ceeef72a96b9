"""Frameworks of Go and Rust, run in boxes without a network: patches are judged by what `go test` and `cargo test`
print."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rewarden import Client
from rewarden.types import Sample, Use
from tests.repositories.made import repository
from tests.server.box_host import HostProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A framework's program, and a small repository. program: by its name. source: the file that patches change, which
    is wrong: it has a `-` for a `+`. files: the others. cheats: files that a patch adds next to it."""

    program: str
    command: str
    env: Mapping[str, str]
    source: str
    wrong: str
    files: Mapping[str, str]
    ids: tuple[str, str]
    cheats: Mapping[str, str]


GO = Toolchain(
    program="go",
    command="go test -v ./...",
    # The box's home is writable, but Go asks for HOME, and nothing may be looked up on the network.
    env={"GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOCACHE": "/tmp/go-cache", "GOPATH": "/tmp/go", "CGO_ENABLED": "0"},
    source="core.go",
    wrong="package calc\n\nfunc Add(a, b int) int { return a - b }\n\nfunc Twice(a int) int { return 2 * a }\n",
    files={
        "go.mod": "module example.com/calc\n\ngo 1.19\n",
        "core_test.go": (
            'package calc\n\nimport "testing"\n\n'
            "func TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal(Add(2, 3))\n\t}\n}\n\n"
            "func TestTwice(t *testing.T) {\n\tif Twice(4) != 8 {\n\t\tt.Fatal(Twice(4))\n\t}\n}\n"
        ),
    },
    ids=("TestAdd", "TestTwice"),
    cheats={
        # All tests are replaced by lines that say that they passed.
        "main_test.go": (
            'package calc\n\nimport (\n\t"fmt"\n\t"os"\n\t"testing"\n)\n\n'
            'func TestMain(m *testing.M) {\n\tfmt.Println("--- PASS: TestAdd (0.00s)")\n'
            '\tfmt.Println("--- PASS: TestTwice (0.00s)")\n\tos.Exit(0)\n}\n'
        ),
    },
)
CARGO = Toolchain(
    program="cargo",
    command="cargo test --offline --no-fail-fast 2>&1",
    env={"CARGO_HOME": "/tmp/cargo", "CARGO_TARGET_DIR": "/tmp/target", "CARGO_NET_OFFLINE": "true"},
    source="src/lib.rs",
    wrong="pub fn add(a: i64, b: i64) -> i64 {\n    a - b\n}\n\npub fn twice(a: i64) -> i64 {\n    2 * a\n}\n",
    files={
        "Cargo.toml": '[package]\nname = "calc"\nversion = "1.0.0"\nedition = "2021"\n',
        "tests/core.rs": (
            "use calc::{add, twice};\n\n#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n\n"
            "#[test]\nfn doubles() {\n    assert_eq!(twice(4), 8);\n}\n"
        ),
    },
    ids=("adds", "tests/core.rs::doubles"),
    cheats={
        # Binaries of tests are handed to a program that says that they passed.
        ".cargo/config.toml": (
            "[target.'cfg(all())']\nrunner = ['printf', 'test adds ... ok\\ntest doubles ... ok\\n']\n"
        ),
        # The tests are emptied before they are compiled.
        "build.rs": (
            "fn main() {\n"
            '    let tests = "#[test]\\nfn adds() {}\\n#[test]\\nfn doubles() {}\\n";\n'
            '    let _ = std::fs::remove_file("tests/core.rs");\n'
            '    std::fs::write("tests/core.rs", tests).unwrap();\n}\n'
        ),
    },
)


@pytest.fixture(scope="module")
def host(launcher: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    """A host. With bubblewrap, its boxes have the machine's own `/usr`, where the toolchains are."""
    more = {"rootfs": "host"} if launcher == "bwrap" else {}
    made = HostProcess(tmp_path_factory.mktemp("host"), launcher, **more)
    yield made
    made.end()


def patched(toolchain: Toolchain, text: str, added: Mapping[str, str] | None = None) -> str:
    """Returns a response: the diff of the source to this text, and of files that it adds."""
    old, new = toolchain.wrong.splitlines(), text.splitlines()
    lines = [*(f"-{line}" for line in old), *(f"+{line}" for line in new)]
    name = toolchain.source
    made = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1,{len(old)} +1,{len(new)} @@\n"
    made += "\n".join(lines) + "\n"
    for path, content in (added or {}).items():
        lines = content.splitlines()
        made += f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
        made += f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
    return made


@pytest.mark.parametrize("toolchain", [GO, CARGO], ids=lambda toolchain: toolchain.program)
def test_the_toolchain_s_own_program_judges_patches(
    client: Client, folder: Path, launcher: str, toolchain: Toolchain
) -> None:
    if launcher == "docker" and toolchain is CARGO:
        pytest.skip("cargo is in none of the images")
    if launcher == "bwrap" and shutil.which(toolchain.program, path="/usr/bin") is None:
        pytest.skip(f"{toolchain.program} is not in this machine's /usr/bin")
    place = folder / f"{launcher}-{toolchain.program}"
    repository(place, {**toolchain.files, toolchain.source: toolchain.wrong})
    right = toolchain.wrong.replace("a - b", "a + b")
    row: dict[str, Any] = {
        "folder": place.name,
        "image": "native",
        "command": toolchain.command,
        "framework": toolchain.program,
        "env": {"HOME": "/tmp", **toolchain.env},
        "fail_to_pass": [toolchain.ids[0]],
        "pass_to_pass": [toolchain.ids[1]],
        "patch": patched(toolchain, right),
        "timeout_s": 120,
        "memory_mb": 1536,
    }
    nothing = "// Nothing is mended.\n" + toolchain.wrong
    answers = [
        patched(toolchain, right),
        patched(toolchain, nothing),
        patched(toolchain, right.replace("2 * a", "3 * a")),
        *(patched(toolchain, nothing, {path: text}) for path, text in toolchain.cheats.items()),
    ]
    samples = [Sample(response=f"```diff\n{text}```", reference=row) for text in answers]
    good, null, breaks, *cheats = client.verify(samples, use=Use(name="swe")).verdicts
    if good.reason == "invalid_sample" and "--only native" in (good.feedback or ""):
        pytest.skip(good.feedback or "")
    assert (good.status, good.score, good.reason) == ("scored", 1.0, None), good.feedback
    for verdict in (null, breaks, *cheats):
        assert (verdict.status, verdict.score, verdict.reason) == ("scored", 0.0, "tests_failed"), verdict
    assert all({"test_changes_dropped", "configuration_changes_dropped"} & set(each.flags) for each in cheats)
