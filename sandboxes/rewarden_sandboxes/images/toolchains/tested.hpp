// What a test framework does for the main of a program with a test file. The zeros stand for a secret of each program,
// which compile-tests puts in their place here and in the framework's own namespace: no name of a candidate's leads here.
namespace tested_0000000000000000 {

// Runs the tests of these names, and says for each how it ended ("passed", "failed", "skipped") and why. A test that is
// there twice is said twice, one that is not there never.
void run(int count, const char* const* names, void (*said)(int at, const char* outcome, const char* why));

}  // namespace tested_0000000000000000
