// Runs the tests of a test file. Behind report.cpp.
namespace tested_0000000000000000 {
void run(int count, const char* const* names, void (*said)(int at, const char* outcome, const char* why));
}

namespace {

const char* failed;
char why[4096];

void note(int at, const char* outcome, const char* reason) {
  bool passed = begins(outcome, "passed");
  if (outcomes[at]) passed = false, reason = "it ran twice";
  outcomes[at] = passed ? "passed" : begins(outcome, "skipped") ? "skipped" : "failed";
  if (passed || failed) return;
  failed = outcomes[at];
  long length = 0;
  const char* parts[] = {names[at], " ", failed, ": ", reason};
  for (const char* part : parts)
    for (; *part && length < long(sizeof why) - 1; ++part) why[length++] = *part;
}

}  // namespace

int main() {
  notice_signals();
  tested_0000000000000000::run(count, names, note);
  for (int at = 0; at < count; ++at) if (!outcomes[at] && !failed) failed = names[at];
  report(!failed, begins(failed ? failed : "", "failed") ? "assertion" : "no_pass", why);
}
