// Catch2 without its main and its command line.
#define Catch Catch_0000000000000000
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>
#include "tested.hpp"

namespace {

// Keeps the first failure of the test that runs.
struct Listener : Catch::IStreamingReporter {
  std::string& failure;

  explicit Listener(std::string& failure) : failure(failure) {}

  Catch::ReporterPreferences getPreferences() const override { return {}; }
  void noMatchingTestCases(std::string const&) override {}
  void testRunStarting(Catch::TestRunInfo const&) override {}
  void testGroupStarting(Catch::GroupInfo const&) override {}
  void testCaseStarting(Catch::TestCaseInfo const&) override {}
  void sectionStarting(Catch::SectionInfo const&) override {}
  void assertionStarting(Catch::AssertionInfo const&) override {}
  bool assertionEnded(Catch::AssertionStats const& stats) override {
    auto const& result = stats.assertionResult;
    if (result.isOk() || !failure.empty()) return true;
    failure = result.hasExpression() ? result.getExpressionInMacro() : "";
    if (result.hasExpandedExpression()) failure += ": " + result.getExpandedExpression();
    if (result.hasMessage()) failure += " " + std::string(result.getMessage());
    return true;
  }
  void sectionEnded(Catch::SectionStats const&) override {}
  void testCaseEnded(Catch::TestCaseStats const&) override {}
  void testGroupEnded(Catch::TestGroupStats const&) override {}
  void testRunEnded(Catch::TestRunStats const&) override {}
  void skipTest(Catch::TestCaseInfo const&) override {}
};

}  // namespace

void tested_0000000000000000::run(int count, const char* const* names, void (*said)(int, const char*, const char*)) {
  std::string failure;
  auto config = std::make_shared<Catch::Config>(Catch::ConfigData());
  Catch::RunContext context(config, Catch::IStreamingReporterPtr(new Listener(failure)));
  Catch::seedRng(*config);
  for (Catch::TestCase const& test : Catch::getRegistryHub().getTestCaseRegistry().getAllTests()) {
    for (int at = 0; at < count; ++at) {
      if (test.name != names[at]) continue;
      if (test.isHidden()) {
        said(at, "skipped", "");
        continue;
      }
      failure.clear();
      bool passed = context.runTest(test).testCases.failed == 0;
      said(at, passed ? "passed" : "failed", failure.c_str());
    }
  }
}
