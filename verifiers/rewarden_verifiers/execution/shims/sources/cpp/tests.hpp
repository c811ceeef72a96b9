// The tests' room: a proxy asks the other room for each call, and the report goes to descriptor 4. Nothing of the
// candidate's is compiled into this program.
#include <fcntl.h>
#include <signal.h>

namespace rewarden {

struct Room {
  std::string nonce;
  bool writes_back = true;
  bool reported = false;
  long uses = 0;
  std::vector<long> changed;

  Room() {
    Json options = Reader(all_of(0)).whole();
    ::close(0);  // Attack: read the options again, with the nonce.
    if (::open("/dev/null", O_RDONLY) != 0) std::_Exit(1);
    nonce = options.at("nonce").str();
    if (auto found = options.find("writes_back")) writes_back = found->truth;
    on_exit([](int status, void* room) { static_cast<Room*>(room)->exited(status); }, this);
    std::set_terminate([] { here().terminated(); });
    for (int number : {SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGABRT}) ::signal(number, [](int) { here().failed("exception", "a signal"); });
  }

  static Room& here();

  void greet() {
    try {
      Json hello = receive_frame(3);
      if (hello.at("is").str() != "loaded") fail("bad_frame", "the first frame is no greeting");
    } catch (const Lost&) {
      fail("candidate_lost", "the candidate's process ended while it was loading");
    } catch (const Bad& fault) {
      fail("bad_frame", fault.what());
    }
  }

  [[noreturn]] void write(std::string_view outcome, std::string_view kind, std::string_view who, std::string_view message) {
    if (!reported) {
      reported = true;
      std::string out = "{\"done\":true,\"outcome\":";
      quote(out, outcome);
      for (auto [name, word] : {std::pair<const char*, std::string_view>{"kind", kind}, {"who", who}, {"message", message.substr(0, 2000)}, {"nonce", nonce}}) {
        out += std::string(",\"") + name + "\":";
        if (word.empty() && name != std::string_view("message")) out += "null";
        else quote(out, word);
      }
      out += ",\"tests\":{},\"calls\":" + std::to_string(uses) + ",\"provenance\":{";
      if (!changed.empty()) {
        out += "\"argument_mutated\":[";
        for (std::size_t at = 0; at < changed.size() && at < 1000; ++at) out += (at ? "," : "") + std::to_string(changed[at]);
        out += "]";
      }
      out += "}}";
      try {
        write_all(4, out);
      } catch (const Lost&) {
      }
    }
    std::_Exit(outcome == "passed" ? 0 : 1);
  }

  // The candidate's fault; the process ends here, so that no `catch` of a test can turn it into a pass.
  [[noreturn]] void fail(std::string_view kind, std::string_view message) { write("failed", kind, "candidate", message); }

  [[noreturn]] void failed(std::string_view kind, std::string_view message) {
    if (uses == 0) write("error", "test_code", "tests", message);
    fail(kind, message);
  }

  void terminated() {
    std::string said = "an exception";
    try {
      if (std::current_exception()) throw;
    } catch (const std::exception& fault) {
      said = type_name(typeid(fault)) + ": " + fault.what();
    } catch (...) {
    }
    failed("exception", said);
  }

  void exited(int status) {
    if (status != 0) failed("exception", "the test code ended with exit code " + std::to_string(status));
    if (uses == 0) write("error", "test_code", "tests", "the test code never used the candidate");
    write("passed", "", "", "");
  }
};

// Made when it is first needed, and before the test code's own variables.
inline Room& Room::here() {
  static Room* room = new Room;
  return *room;
}

struct CandidateError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] inline void rethrow(const std::string& type, const std::string& message) {
  if (type == "std::invalid_argument") throw std::invalid_argument(message);
  if (type == "std::out_of_range") throw std::out_of_range(message);
  if (type == "std::domain_error") throw std::domain_error(message);
  if (type == "std::length_error") throw std::length_error(message);
  if (type == "std::logic_error") throw std::logic_error(message);
  if (type == "std::overflow_error") throw std::overflow_error(message);
  if (type == "std::underflow_error") throw std::underflow_error(message);
  if (type == "std::range_error") throw std::range_error(message);
  throw CandidateError(message);
}

// Returns the other room's answer. Its arguments become what the candidate made of them.
template <class R, class... A>
R ask(const char* name, A&... args) {
  Room& room = Room::here();
  long number = ++room.uses;
  std::string type, message;
  try {
    std::string question = "{\"op\":\"call\",\"of\":0,\"id\":" + std::to_string(number) + ",\"name\":";
    quote(question, name);
    question += ",\"args\":[";
    bool first = true;
    ((question += (first ? "" : ","), first = false, question += encoded<std::remove_cvref_t<A>>(args)), ...);
    send_frame(3, question + "],\"kwargs\":{},\"capture\":false}");
    Json answer = receive_frame(3);
    if (answer.at("id").kind != Json::number || answer.at("id").word != std::to_string(number)) throw Bad("an answer to another question");
    const std::string& kind = answer.at("is").str();
    if (kind == "value") {
      if (auto after = answer.find("after")) {
        int at = 0;
        ([&] {
          auto now = after->find(std::to_string(at++));
          if constexpr (!std::is_const_v<A>) {
            if (now) {
              auto value = Codec<std::remove_cvref_t<A>>::decode(*now);
              if (encoded(value) != encoded<std::remove_cvref_t<A>>(args)) {
                room.changed.push_back(number);
                if (room.writes_back) args = std::move(value);
              }
            }
          }
        }(), ...);
      }
      if constexpr (std::is_void_v<R>) {
        if (answer.at("value").kind != Json::null) throw Bad("a value where none is");
        return;
      } else {
        return Codec<std::remove_cvref_t<R>>::decode(answer.at("value"));
      }
    }
    if (kind == "uncrossable") room.fail("uncrossable_value", "a value cannot cross: " + answer.at("type").str().substr(0, 100));
    if (kind != "raised") throw Bad("no such answer");
    type = answer.at("type").str();
    message = answer.at("message").str().substr(0, 2000);
  } catch (const Lost&) {
    room.fail("candidate_lost", "the candidate's process ended while the tests were running");
  } catch (const Bad& fault) {
    room.fail("bad_frame", fault.what());
  } catch (const Uncrossable& fault) {
    room.write("error", "unsupported", "tests", std::string("an argument cannot cross: ") + fault.what());
  }
  rethrow(type, message);
}

}  // namespace rewarden

extern "C" [[noreturn]] inline __attribute__((used)) void rewarden_assert_failed(const char* what) {
  rewarden::Room::here().failed("assertion", what);
}
extern "C" void __assert_fail(const char* what, const char*, unsigned, const char*) noexcept { rewarden_assert_failed(what); }

