"""Flags of compilers: those that a job may add, and those that no row allows, whatever it is for."""

from __future__ import annotations

import pytest

from rewarden_sandboxes.flags import refused
from rewarden_sandboxes.languages import Language, Registry

ROWS = [language for language in Registry.load() if language.flags]

HOSTILE = (
    # They read flags of a file, or a further source.
    "@flags", "other.c", "/etc/passwd",
    # They write elsewhere.
    "-o", "-o/tmp/x", "-omain.c", "-of=x", "-odx", "-out:x", "-ohi", "-hidir", "-save-temps", "-dumpbase", "-MMD",
    "-MF",
    "-fdump-tree-all", "-ftime-trace=x", "--emit=asm", "-fprofile-generate=/", "-fprofile-use=x", "-fcoverage",
    # They read folders and files.
    "-I/", "-I", "-include", "-include/etc/passwd", "-imacros", "-isystem", "-iquote.", "--sysroot=/", "-J.",
    "-idirafter/", "-L/", "-L.", "-Lx", "-lx", "-l/x", "-T", "-Tx.ld", "-Lnative=.", "--extern=x", "-gnatep=x",
    "-gnatec=x", "-F", "-FU.", "-FEx", "-FDx", "-Px", "-P", "-framework", "-r:x.dll", "-pkg:x", "--project",
    "--config=x",
    # They load or start something.
    "-fplugin=x.so", "-fplugin-arg-x", "-fplugin-path=.", "-load", "--plugin=x.so", "-plugin", "-B.", "-B/", "-specs=x",
    "--specs=x", "-wrapper", "-wrapper,sh", "-fuse-ld=x", "-no-integrated-cpp", "-pgmF", "-pgmFx", "-gcc=x", "-Wl",
    "-Wl,-rpath,.", "-Wl,--version-script=x", "-Wa,-I/", "-Wp", "-Wp,-MD,x", "-Xlinker", "-Xassembler", "-optl-Wl,x",
    "-Clinker=x", "-Clink-arg=x", "-Clink-args=x", "-C", "-Cincremental=x", "-Zx", "-XTemplateHaskell", "-XQuasiQuotes",
    "-XCPP", "--outDir", "-stdlib=x", "-std=/x",
    # They are of another machine, or no program comes of them.
    "-march=x86-64-v4", "-mtune=i386", "-Ctarget-cpu=x", "-mcpu=x",
    "-x", "-xc", "-E", "-S", "-c", "-###", "-v", "--help", "-fsyntax-only", "-a", "-y", "-gnatD",
    # They are several words, or none.
    "-D X", "-DX=/etc/passwd", '-DX="a"', "-DX=`id`", "-O3 -fplugin=x", "-O3\n-fplugin=x", "-O3\0", "-", "", "--",
    "-fé",
)  # fmt: skip


@pytest.mark.parametrize("language", ROWS, ids=lambda language: language.name)
def test_no_row_allows_a_flag_that_reads_writes_loads_or_starts_something(language: Language) -> None:
    for flag in HOSTILE:
        assert refused(language.name, [flag], language.flags) is not None, flag


def test_the_first_flag_that_is_refused_is_named() -> None:
    place, reason = refused("c", ["-O2", "-x", "-y"], ["-O[0-3]"]) or (-1, "")
    assert place == 1
    assert reason == (
        "'-x' is not allowed for 'c'; use flags that match -O[0-3], or allow it in the language's row "
        "(docs/languages.md)"
    )


def test_a_row_that_allows_all_still_allows_only_flags() -> None:
    assert refused("mine", ["-O3", "--any=/thing"], [".*"]) is None
    for word in ("@flags", "other.c", "-a b", "-a\n", "", "-", "-" + "a" * 200):
        assert refused("mine", [word], [".*"]) is not None, word


def test_a_language_without_flags_takes_none() -> None:
    assert refused("python", [], []) is None
    assert refused("python", ["-O"], []) == (
        0,
        "the language 'python' takes no flags; remove them, or allow some in its row (docs/languages.md)",
    )


def test_flags_have_a_number() -> None:
    assert refused("c", ["-g"] * 64, ["-g"]) is None
    assert (refused("c", ["-g"] * 65, ["-g"]) or (0, ""))[1].startswith("there are 65 flags; 64 is the most")
