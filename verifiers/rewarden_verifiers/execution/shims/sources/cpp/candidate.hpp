// The candidate's side, for the modes `call` and `serve`: a table of its functions, whose types the compiler knows.
namespace rewarden {

// A call's reply: its value, and the arguments that it can have changed.
struct Outcome {
  std::string value;
  std::vector<std::pair<std::size_t, std::string>> after;
};
using Function = std::function<Outcome(const std::vector<Json>&)>;

// The object that an argument refers to while the function runs.
template <class A>
struct Held {
  using type = std::remove_cvref_t<A>;
};
template <>
struct Held<std::string_view> {
  using type = std::string;
};
template <>
struct Held<const char*> {
  using type = std::string;
};

template <class A, class T>
decltype(auto) passed(T& held) {
  if constexpr (std::same_as<A, const char*>) return held.c_str();
  else if constexpr (std::is_lvalue_reference_v<A>) return (held);
  else return std::move(held);
}

template <class... A>
std::vector<std::string> now(std::tuple<typename Held<A>::type...>& held, std::vector<std::pair<std::size_t, std::string>>& after) {
  std::vector<std::string> found;
  [&]<std::size_t... at>(std::index_sequence<at...>) {
    ([&] {
      if constexpr (std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>)
        after.emplace_back(at, encoded(std::get<at>(held)));
    }(), ...);
  }(std::index_sequence_for<A...>{});
  return found;
}

template <class R, class... A, class F>
Outcome invoked(F&& function, const std::vector<Json>& args) {
  if (args.size() != sizeof...(A)) throw Bad("another number of arguments: " + std::to_string(args.size()));
  return [&]<std::size_t... at>(std::index_sequence<at...>) {
    std::tuple<typename Held<A>::type...> held{Codec<typename Held<A>::type>::decode(args[at])...};
    Outcome outcome;
    if constexpr (std::is_void_v<R>) {
      function(passed<A>(std::get<at>(held))...);
      outcome.value = "null";
    } else {
      outcome.value = encoded<std::remove_cvref_t<R>>(function(passed<A>(std::get<at>(held))...));
    }
    now<A...>(held, outcome.after);
    return outcome;
  }(std::index_sequence_for<A...>{});
}

template <class R, class... A>
Function wrap(R (*function)(A...)) {
  return [=](const std::vector<Json>& args) { return invoked<R, A...>(function, args); };
}

// A method of a new object, which the program makes without arguments.
template <class R, class C, class... A>
Function wrap(R (C::*method)(A...)) {
  return [=](const std::vector<Json>& args) {
    auto object = std::make_unique<C>();
    return invoked<R, A...>([&](A... given) -> R { return ((*object).*method)(std::forward<A>(given)...); }, args);
  };
}
template <class R, class C, class... A>
Function wrap(R (C::*method)(A...) const) {
  return wrap(reinterpret_cast<R (C::*)(A...)>(method));
}

// A variable that can be called: a lambda expression or a std::function.
template <class R, class C, class F, class... A>
Function wrap_object(F* object, R (C::*)(A...) const) {
  return [=](const std::vector<Json>& args) { return invoked<R, A...>(*object, args); };
}
template <class R, class C, class F, class... A>
Function wrap_object(F* object, R (C::*)(A...)) {
  return [=](const std::vector<Json>& args) { return invoked<R, A...>(*object, args); };
}
template <class F>
  requires std::is_class_v<F>
Function wrap(F* object) {
  return wrap_object(object, &F::operator());
}

using Table = std::map<std::string, Function>;

inline std::string failure(const char* type_key, const char* message_key) {
  std::string type = "unknown", message;
  try {
    throw;
  } catch (const std::exception& fault) {
    type = type_name(typeid(fault));
    message = fault.what();
  } catch (const std::string& fault) {
    type = "std::string", message = fault;
  } catch (const char* fault) {
    type = "const char*", message = fault;
  } catch (...) {
    if (auto known = abi::__cxa_current_exception_type()) type = type_name(*known);
  }
  std::u32string points;
  if (!points_of(message, points)) message.clear();
  std::string out = std::string("\"") + type_key + "\":";
  quote(out, type);
  out += std::string(",\"") + message_key + "\":";
  quote(out, message.substr(0, 2000));
  return out;
}

inline int call(const Table& table) {
  std::string reply;
  bool good = false;
  try {
    Json request = Reader(all_of(0)).whole();
    auto found = table.find(request.at("target").str());
    if (found == table.end()) {
      reply = "{\"missing\":";
      quote(reply, request.at("target").word);
      reply += "}";
    } else {
      reply = "{\"value\":" + found->second(request.at("args").list()).value + "}";
      good = true;
    }
  } catch (const Uncrossable& fault) {
    reply = "{\"uncrossable\":";
    quote(reply, fault.what());
    reply += "}";
  } catch (...) {
    reply = "{" + failure("error", "message") + "}";
  }
  std::fflush(nullptr);
  std::cout.flush();
  write_all(4, reply);
  std::_Exit(good ? 0 : 1);  // what the program does at its end is no part of the call
}

inline std::string answer(const Table& table, const Json& question) {
  auto found = table.find(question.at("name").str());
  if (found == table.end()) return "\"is\":\"absent\"";
  if (question.at("op").str() != "call") return "\"is\":\"function\"";
  try {
    Outcome outcome = found->second(question.at("args").list());
    std::string said = "\"is\":\"value\",\"value\":" + outcome.value + ",\"after\":{";
    bool first = true;
    for (auto& [at, value] : outcome.after) {
      said += (first ? "\"" : ",\"") + std::to_string(at) + "\":" + value;
      first = false;
    }
    return said + "}";
  } catch (const Uncrossable& fault) {
    std::string said = "\"is\":\"uncrossable\",\"type\":";
    quote(said, fault.what());
    return said;
  } catch (...) {
    return "\"is\":\"raised\"," + failure("type", "message");
  }
}

inline int serve(const Table& table) {
  try {
    send_frame(3, "{\"is\":\"loaded\"}");
    for (;;) {
      Json question = receive_frame(3);
      const Json& id = question.at("id");
      if (id.kind != Json::number) throw Bad("not a number");
      std::string said = "{\"id\":" + id.word + ",";
      try {
        said += answer(table, question) + "}";
        send_frame(3, said);
      } catch (const Uncrossable&) {
        send_frame(3, "{\"id\":" + id.word + ",\"is\":\"uncrossable\",\"type\":\"too many bytes\"}");
      }
    }
  } catch (const Lost&) {
    std::_Exit(0);
  } catch (...) {
    std::_Exit(1);
  }
}

}  // namespace rewarden
