"""Shims of languages other than Python: a candidate's code becomes a program that answers calls, and test code one that
makes them, by the protocol of docs/tagged-codec.md.

written.py     a program that a shim wrote, and the sources that it is made of
javascript.py  JavaScript
typescript.py  TypeScript
cpp.py         C++
java.py        Java
go.py          Go
rust.py        Rust
heads.py       the functions that code declares
braces.py      the braces and declarations of a program in a language like C
ruby.py        Ruby
php.py         PHP
brokered.py    languages whose interpreters need a broker
bash.py        Bash
perl.py        Perl
lua.py         Lua
r.py           R
known.py       the shim of a language
sources/       the part of each shim that is written in its language
"""
