// Runs test code and the candidate in one program. Behind report.cpp.
#include <cstdlib>
#include <cxxabi.h>
#include <exception>

extern "C" int rewarden_tests() __asm__("rewarden_tests_main");

int main() {
  notice_signals();
  int status = 0;
#if __cpp_exceptions
  try {
    status = rewarden_tests();
  } catch (const std::exception& fault) {
    int unknown = 0;
    const char* type = abi::__cxa_demangle(abi::__cxa_current_exception_type()->name(), 0, 0, &unknown);
    static char message[2000];
    long length = 0;
    const char* parts[] = {type ? type : "an exception", ": ", fault.what()};
    for (const char* part : parts)
      for (; *part && length < long(sizeof message) - 1; ++part) message[length++] = *part;
    report(false, "exception", message);
  } catch (...) {
    report(false, "exception", "an exception");
  }
#else
  status = rewarden_tests();
#endif
  if (status) report(false, "exception", "main returned another value than 0");
  report(true, 0, "");
}
