"""Test frameworks of languages other than Python: a test file from the reference and a candidate become one program,
whose runner reports with a nonce (docs/rooms.md, "Test files").

jest.py             Jest, Vitest and node:test, for JavaScript
jest_typescript.py  the same for TypeScript
go_test.py          Go's package `testing`
rust_test.py        Rust's `#[test]`
junit.py            JUnit 5 and JUnit 4, for Java
cpp_test.py         Catch2 and doctest, for C++
known.py            the framework of a language
"""
