// Stands before the candidate's code in the translation unit that it shares with the test code.
#include <bits/stdc++.h>
#include <unistd.h>

// Attacks: code that runs before the nonce is read, and another name for the test code's `main`.
#pragma GCC poison ifunc __ifunc__ redefine_extname

extern "C" void rewarden_failed(const char* kind, const char* message) __attribute__((noreturn, noipa));

// Attack: an overload that `assert` fits better, because the C library's takes an unsigned number.
__attribute__((noreturn)) inline void __assert_fail(const char* what, const char*, int, const char*) { rewarden_failed("assertion", what); }
