"""The registry of languages: rows of YAML, read strictly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewarden_sandboxes.box import Exec
from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.images import TIERS
from rewarden_sandboxes.job import Limits, Program
from rewarden_sandboxes.languages import Language, LanguageError, Registry, UnknownLanguage, version_line, version_of
from rewarden_sandboxes.resolve import Resolver
from rewarden_sandboxes.settings import HostSettings

LUA = "zz: {images: [toolchains], file: main.zz, run: [zz, main.zz]}\n"


def extra(tmp_path: Path, text: str) -> Path:
    """A file of a user's own rows."""
    path = tmp_path / "extra.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_make_images_is_enough_for_the_languages_of_toolchains() -> None:
    found = {name for name in Registry.load().names() if "toolchains" in Registry.load().get(name).images}
    cpp = {"cpp", "cpp17", "cpp23", "cpp-catch2", "cpp-doctest"}
    assert found == {"python", "c", *cpp, "javascript", "javascript-module", "bash"}


def test_every_compiled_language_but_those_of_the_jvm_runs_in_a_box_as_what_its_compiler_left() -> None:
    resolver = Resolver(Registry.load(), HostSettings())
    jvm = ("java", "java-junit", "kotlin", "scala")
    execs = {each.name: Exec(program=Program(language=each.name, code=b"")) for each in Registry.load() if each.compile}
    for name in jvm:
        with pytest.raises(BadJob, match="run its compiler"):
            resolver.exec(execs.pop(name))
    found = {name: resolver.exec(what)[0] for name, what in execs.items()}
    assert all(program["compile"] for program in found.values())
    others = {"typescript": "node ./main.js", "csharp": "mono ./main.exe", "verilog": "vvp -n ./main"}
    runs = {name: " ".join(program["run"]) for name, program in found.items()}
    assert runs == {**dict.fromkeys(found, "./main"), **others}


def test_every_language_can_print_its_toolchains_version() -> None:
    assert all(language.version for language in Registry.load())


@pytest.mark.parametrize(
    ("said", "line", "version"),
    [
        (b"go version go1.19.8 linux/amd64\n", "go version go1.19.8 linux/amd64", (1, 19, 8)),
        (b"\nThe Glorious System, version 9.0.2\n", "The Glorious System, version 9.0.2", (9, 0, 2)),
        (b"Copyright 2022\nErlang/OTP\nElixir 1.14.0 (OTP 25)\n", "Elixir 1.14.0 (OTP 25)", (1, 14)),
        (b"25\n", "25", (25,)),
        (b"no number\n", "", None),
    ],
)
def test_the_version_is_found_in_what_a_toolchain_says(said: bytes, line: str, version: tuple[int, ...] | None) -> None:
    assert version_line(said) == line
    assert version_of(line) == version


def test_versions_compare_by_their_numbers() -> None:
    assert (version_of("1.9") or ()) < (version_of("1.19.8") or ())
    assert version_of("2.0") == version_of("2")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("python", "python"),
        ("py", "python"),
        ("python3", "python"),
        ("Python", "python"),
        ("c", "c"),
        ("cpp", "cpp"),
        ("c++", "cpp"),
        ("C++", "cpp"),
        ("js", "javascript"),
        ("node", "javascript"),
        ("sh", "bash"),
        ("nodejs", "javascript"),
        ("pypy3", "python"),
        ("cpp20", "cpp"),
        ("c++17", "cpp17"),
        ("golang", "go"),
        ("rs", "rust"),
        ("kt", "kotlin"),
        ("cs", "csharp"),
        ("C#", "csharp"),
        ("ts", "typescript"),
        ("rkt", "racket"),
        ("jl", "julia"),
        ("D_ut", "d"),
    ],
)
def test_a_language_is_found_by_its_name_and_aliases_in_any_case(asked: str, name: str) -> None:
    assert Registry.load().get(asked).name == name


@pytest.mark.parametrize(
    ("fence", "name"), [("python", "python"), ("py", "python"), ("c++", "cpp"), ("cc", "cpp"), ("shell", "bash")]
)
def test_a_fence_names_one_language(fence: str, name: str) -> None:
    assert Registry.load().by_fence[fence].name == name


@pytest.mark.parametrize("image", sorted(TIERS))
def test_judges_in_python_and_cpp_can_share_a_slot_with_the_languages_of_each_image(image: str) -> None:
    assert all(image in Registry.load().get(name).images for name in ("python", "cpp"))


def test_an_unknown_language_is_answered_with_names_that_look_like_it() -> None:
    with pytest.raises(UnknownLanguage, match=r"unknown language 'pyhton': did you mean python") as caught:
        Registry.load().get("pyhton")
    assert caught.value.near[0] == "python"
    assert isinstance(caught.value, KeyError)


def test_where_nothing_looks_like_it_all_that_are_known_are_named() -> None:
    with pytest.raises(UnknownLanguage, match=r"'zzzzzz': known: python, c, cpp, cpp17, cpp23, cpp-catch2"):
        Registry.load().get("zzzzzz")


def test_a_row_has_defaults_for_all_but_images_file_and_run(tmp_path: Path) -> None:
    assert Registry.load(extra(tmp_path, LUA)).get("zz") == Language(
        name="zz",
        images=("toolchains",),
        file="main.zz",
        run=("zz", "main.zz"),
        compile=(),
        version=(),
        aliases=(),
        fences=("zz",),
        python=False,
        limits=Limits(),
        compile_limits=Limits(),
    )


def test_fences_are_the_name_and_the_aliases_unless_they_are_given(tmp_path: Path) -> None:
    rows = "lua: {images: [x], file: a, run: [a], aliases: [lua5]}\nzz: {images: [x], file: a, run: [a], fences: []}"
    registry = Registry.load(extra(tmp_path, rows))
    assert registry.get("lua").fences == ("lua", "lua5")
    assert registry.get("zz").fences == ()


def test_a_users_file_adds_rows(tmp_path: Path) -> None:
    assert Registry.load(extra(tmp_path, LUA)).names() == (*Registry.load().names(), "zz")


def test_the_name_of_a_users_row_is_taken_from_the_words_of_the_projects(tmp_path: Path) -> None:
    registry = Registry.load(extra(tmp_path, "golang: {images: [own], file: a.go, run: [go, run, a.go]}"))
    assert registry.get("golang").images == ("own",)
    assert registry.by_fence["golang"].images == ("own",)
    assert registry.get("go").aliases == ()


def test_a_users_row_replaces_the_projects_whole(tmp_path: Path) -> None:
    row = "cpp: {images: [clang], file: a.cc, compile: [clang++, a.cc], run: [./a.out], limits: {memory_mb: 99}}"
    registry = Registry.load(extra(tmp_path, row))
    assert registry.get("cpp").compile == ("clang++", "a.cc")
    assert registry.get("cpp").limits == Limits(memory_mb=99)
    assert registry.get("cpp").compile_limits == Limits()
    with pytest.raises(UnknownLanguage):
        registry.get("c++")


def test_rows_that_stand_in_no_file_are_added_and_a_users_file_replaces_them(tmp_path: Path) -> None:
    rows = [
        Language(name=name, images=("python",), file="a", run=("a",), mounts={"/mnt/a": "/b"})
        for name in ("first", "second")
    ]
    registry = Registry.load(extra(tmp_path, "second: {images: [x], file: z, run: [z]}"), rows=rows)
    assert registry.get("first") == rows[0]
    assert registry.get("second").file == "z"
    assert registry.get("python").mounts == {}


def test_a_word_that_a_users_file_claims_is_taken_from_rows_that_stand_in_none(tmp_path: Path) -> None:
    words = ("word", "other")
    rows = [Language(name="first", images=("python",), file="a", run=("a",), aliases=words, fences=("first", *words))]
    registry = Registry.load(extra(tmp_path, "word: {images: [x], file: z, run: [z], fences: [other]}"), rows=rows)
    assert registry.get("word").file == "z"
    assert registry.get("other").name == "first"
    assert {fence: registry.by_fence[fence].name for fence in ("first", "other")} == {"first": "first", "other": "word"}


def test_all_of_it_can_be_said_in_json() -> None:
    said = json.loads(json.dumps(Registry.load().as_dict()))
    assert said["javascript"]["fences"] == ["javascript", "js", "node", "nodejs"]
    assert said["cpp"]["compile_limits"] == {"cpu_s": 30, "wall_s": 30, "memory_mb": 1024, "disk_mb": 128}
    assert said["python"]["python"] is True
    assert said["python"]["limits"] == {}


WRONG = [
    ("lua: {images: [x], file: a, run: [a], imges: [x]}", r"lua\.imges: no such field; known: aliases"),
    ("lua: {images: [x], file: a}", r"lua\.run: is missing"),
    ("lua: {file: a, run: [a]}", r"lua\.images: is missing"),
    ("lua: {images: [x], run: [a]}", r"lua\.file: is missing"),
    ("lua: {images: [], file: a, run: [a]}", r"lua\.images: must be a list of at least one"),
    ("lua: {images: x, file: a, run: [a]}", r"lua\.images: must be a list"),
    ("lua: {images: [X/y], file: a, run: [a]}", r"lua\.images: 'X/y' does not fit"),
    ("lua: {images: [x, x], file: a, run: [a]}", r"lua\.images: 'x' is given twice"),
    ("lua: {images: [x], file: /etc/passwd, run: [a]}", r"lua\.file: '/etc/passwd' is not a plain path"),
    ("lua: {images: [x], file: ../a, run: [a]}", r"lua\.file: '\.\./a' is not a plain path"),
    ("lua: {images: [x], file: a/../../b, run: [a]}", r"lua\.file: .* is not a plain path"),
    ("lua: {images: [x], file: '', run: [a]}", r"lua\.file: '' is not a plain path"),
    ("lua: {images: [x], file: a/, run: [a]}", r"lua\.file: 'a/' is not a plain path"),
    ("lua: {images: [x], file: ., run: [a]}", r"lua\.file: '\.' is not a plain path"),
    ('lua: {images: [x], file: "a\\0b", run: [a]}', r"lua\.file: .* is not a plain path"),
    ("lua: {images: [x], file: 7, run: [a]}", r"lua\.file: 7 is not a plain path"),
    ("lua: {images: [x], file: a, run: []}", r"lua\.run: must be a list of words"),
    ("lua: {images: [x], file: a, run: lua a}", r"lua\.run: must be a list of words"),
    ("lua: {images: [x], file: a, run: [lua, 5]}", r"lua\.run: must be a list of words"),
    ('lua: {images: [x], file: a, run: ["a\\0b"]}', r"lua\.run: a word contains a NUL"),
    ("lua: {images: [x], file: a, run: [a], compile: []}", r"lua\.compile: must be a list of words"),
    ("lua: {images: [x], file: a, run: [a], version: lua -v}", r"lua\.version: must be a list of words"),
    ("lua: {images: [x], file: a, run: [a], python: 1}", r"lua\.python: must be true or false"),
    ("lua: {images: [x], file: a, run: [a], limits: {cpu: 1}}", r"lua\.limits\.cpu: no such limit; known: cpu_s"),
    ("lua: {images: [x], file: a, run: [a], limits: [1]}", r"lua\.limits: must be a mapping"),
    ("lua: {images: [x], file: a, run: [a], limits: {cpu_s: 0}}", r"limits\.cpu_s: must be a number above 0, not 0"),
    ("lua: {images: [x], file: a, run: [a], limits: {cpu_s: .inf}}", r"limits\.cpu_s: must be a number above 0"),
    ("lua: {images: [x], file: a, run: [a], limits: {cpu_s: .nan}}", r"limits\.cpu_s: must be a number above 0"),
    ("lua: {images: [x], file: a, run: [a], limits: {cpu_s: true}}", r"limits\.cpu_s: must be a number above 0"),
    ("lua: {images: [x], file: a, run: [a], limits: {memory_mb: 1.5}}", r"limits\.memory_mb: must be a whole number"),
    (
        "lua: {images: [x], file: a, run: [a], compile_limits: {cpu_s: 1}}",
        r"compile_limits: the language has no compile command",
    ),
    ("lua: {images: [x], file: a, run: [a], sources: [.a]}", r"lua\.sources: the language has no compile command"),
    (
        "lua: {images: [x], file: a, run: [a], compile: [b], sources: [.a]}",
        r"sources: 'a' is not a word of compile",
    ),
    ("lua: {images: [x], file: a, run: [a], flags: [-O]}", r"lua\.flags: the language has no compile command"),
    ("lua: {images: [x], file: a, run: [a], compile: [b], flags: [-O]}", r"lua\.flags: 'a' is not a word of compile"),
    ("lua: {images: [x], file: a, run: [a], compile: [a], flags: -O}", r"lua\.flags: must be a list of regular"),
    ("lua: {images: [x], file: a, run: [a], compile: [a], flags: ['-O[']}", r"lua\.flags: '-O\[' is not a regular"),
    ("lua: {images: [x], file: a, run: [a], compile: [a], sources: [a]}", r"lua\.sources: 'a' does not fit"),
    ("lua: {images: [x], file: a, run: [a], aliases: [C++]}", r"lua\.aliases: 'C\+\+' does not fit"),
    ("lua: {images: [x], file: a, run: [a], aliases: [py]}", r"lua\.aliases: 'py' is claimed by 'python' too"),
    ("lua: {images: [x], file: a, run: [a], aliases: [bash]}", r"lua\.aliases: 'bash' is claimed by 'bash' too"),
    ("lua: {images: [x], file: a, run: [a], fences: [c]}", r"lua\.fences: 'c' is claimed by 'c' too"),
    ("lua: {images: [x], file: a, run: [a], mounts: [/mnt/a]}", r"lua\.mounts: must be a mapping of paths"),
    ("lua: {images: [x], file: a, run: [a], mounts: {/mnt/a: b}}", r"lua\.mounts: 'b' is not a plain absolute path"),
    ("lua: {images: [x], file: a, run: [a], mounts: {/mnt/a: /b/../c}}", r"lua\.mounts: '/b/\.\./c' is not a plain"),
    ("lua: {images: [x], file: a, run: [a], mounts: {/mnt/../etc: /b}}", r"lua\.mounts: .* is not a plain absolute"),
    ("lua: {images: [x], file: a, run: [a], mounts: {/mnt: /b}}", r"lua\.mounts: '/mnt' is not below /mnt"),
    ("lua: {images: [x], file: a, run: [a], mounts: {/etc: /b}}", r"lua\.mounts: '/etc' is not below /mnt"),
    ("lua: {images: [x], file: a, run: [a], mounts: {/mnt/a: /b, /mnt/a/c: /d}}", r"'/mnt/a/c' lies in '/mnt/a'"),
    ("lua: 5", r"lua: must be a mapping"),
    ("Lua: {images: [x], file: a, run: [a]}", r"'Lua': a language's name is lower-case"),
    ("no: {images: [x], file: a, run: [a]}", r"False: a language's name is lower-case .* \(quote it\)"),
    ("- lua", r"must be a mapping of language names to rows"),
    ("", r"must be a mapping of language names to rows"),
    ("lua: [", r"cannot be read"),
    (LUA + LUA, r"zz: given twice"),
    ("lua: {images: [x], file: a, run: [a], file: b}", r"file: given twice"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_a_wrong_row_is_refused_by_row_and_field(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(LanguageError, match=words):
        Registry.load(extra(tmp_path, text))


def test_an_error_names_the_file(tmp_path: Path) -> None:
    path = extra(tmp_path, "lua: 5")
    with pytest.raises(LanguageError) as caught:
        Registry.load(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match="cannot be read"):
        Registry.load(tmp_path / "none.yaml")
