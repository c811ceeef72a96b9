// doctest without its main and its command line.
#define doctest doctest_0000000000000000
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include <doctest/doctest.h>
#include "tested.hpp"

namespace {

struct Run {
  int count;
  const char* const* names;
  void (*said)(int, const char*, const char*);
} run;

// Says how each test ended, with its first failure.
struct Listener : doctest::IReporter {
  doctest::String name, failure;

  explicit Listener(const doctest::ContextOptions&) {}

  void note(const doctest::String& what) {
    if (failure.size() == 0) failure = what;
  }
  void say(const char* outcome) {
    for (int at = 0; at < run.count; ++at)
      if (name == run.names[at]) run.said(at, outcome, failure.c_str());
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData& test) override { name = test.m_name, failure = ""; }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override { say(stats.testCaseSuccess ? "passed" : "failed"); }
  void test_case_exception(const doctest::TestCaseException& fault) override { note(fault.error_string); }
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& seen) override {
    if (!seen.m_failed) return;
    doctest::String said = doctest::String(doctest::assertString(seen.m_at)) + "( " + seen.m_expr + " )";
    note(said + ": " + (seen.m_threw ? seen.m_exception : seen.m_decomp));
  }
  void log_message(const doctest::MessageData& seen) override {
    if (seen.m_severity != doctest::assertType::is_warn) note(seen.m_string);
  }
  void test_case_skipped(const doctest::TestCaseData& test) override { name = test.m_name, failure = "", say("skipped"); }
};

DOCTEST_REGISTER_REPORTER("listener", 1, Listener);

}  // namespace

void tested_0000000000000000::run(int count, const char* const* names, void (*said)(int, const char*, const char*)) {
  ::run = {count, names, said};
  auto& tests = doctest::detail::getRegisteredTests();
  for (auto test = tests.begin(); test != tests.end();) {
    bool wanted = false;
    for (int at = 0; at < count; ++at) wanted = wanted || doctest::String(test->m_name) == names[at];
    test = wanted ? std::next(test) : tests.erase(test);
  }
  doctest::Context context;
  context.setOption("reporters", "listener");
  context.run();
}
