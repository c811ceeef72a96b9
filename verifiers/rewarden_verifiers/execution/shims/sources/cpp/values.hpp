// Tagged JSON (docs/tagged-codec.md) for C++. It stands before the candidate's code, so that no macro of the candidate's
// changes it.
#include <bits/stdc++.h>
#include <cxxabi.h>
#include <unistd.h>

namespace rewarden {

constexpr std::size_t most_bytes = 8u << 20;
constexpr int most_depth = 100;

struct Bad : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Uncrossable : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Lost {};

struct Json {
  enum Kind { null, boolean, number, text, array, object } kind = null;
  bool truth = false;
  std::string word;  // of a text, or of a number as it is written
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> fields;

  const Json* find(std::string_view name) const {
    for (auto& field : fields)
      if (field.first == name) return &field.second;
    return nullptr;
  }
  const Json& at(std::string_view name) const {
    if (auto found = find(name)) return *found;
    throw Bad("a field is missing");
  }
  const std::string& str() const {
    if (kind != text) throw Bad("not a text");
    return word;
  }
  const std::vector<Json>& list() const {
    if (kind != array) throw Bad("not an array");
    return items;
  }
};

class Reader {
 public:
  explicit Reader(std::string_view source) : left(source) {}

  Json whole() {
    Json found = value(0);
    blanks();
    if (!left.empty()) throw Bad("more than one value");
    return found;
  }

 private:
  std::string_view left;

  void blanks() {
    while (!left.empty() && std::strchr(" \t\r\n", left[0])) left.remove_prefix(1);
  }
  bool take(char wanted) {
    blanks();
    if (left.empty() || left[0] != wanted) return false;
    left.remove_prefix(1);
    return true;
  }
  void need(char wanted) {
    if (!take(wanted)) throw Bad("not JSON");
  }
  bool take_word(std::string_view wanted) {
    if (!left.starts_with(wanted)) return false;
    left.remove_prefix(wanted.size());
    return true;
  }
  Json value(int depth) {
    if (depth > 4 * most_depth) throw Bad("nested too deep");
    blanks();
    Json made;
    if (take('{')) {
      made.kind = Json::object;
      if (take('}')) return made;
      do {
        blanks();
        std::string name = string();
        need(':');
        made.fields.emplace_back(std::move(name), value(depth + 1));
      } while (take(','));
      need('}');
    } else if (take('[')) {
      made.kind = Json::array;
      if (take(']')) return made;
      do made.items.push_back(value(depth + 1));
      while (take(','));
      need(']');
    } else if (!left.empty() && left[0] == '"') {
      made.kind = Json::text;
      made.word = string();
    } else if (take_word("true")) {
      made.kind = Json::boolean;
      made.truth = true;
    } else if (take_word("false")) {
      made.kind = Json::boolean;
    } else if (!take_word("null")) {
      made.kind = Json::number;
      while (!left.empty() && std::strchr("+-.0123456789eE", left[0])) {
        made.word += left[0];
        left.remove_prefix(1);
      }
      if (made.word.empty()) throw Bad("not JSON");
    }
    return made;
  }
  unsigned hex4() {
    if (left.size() < 4) throw Bad("not JSON");
    unsigned point = 0;
    for (char digit : left.substr(0, 4)) {
      if (!std::isxdigit(static_cast<unsigned char>(digit))) throw Bad("not JSON");
      point = point * 16 + (std::isdigit(static_cast<unsigned char>(digit)) ? digit - '0' : (digit | 32) - 'a' + 10);
    }
    left.remove_prefix(4);
    return point;
  }
  std::string string() {
    need('"');
    std::string made;
    for (;;) {
      if (left.empty()) throw Bad("not JSON");
      char next = left[0];
      left.remove_prefix(1);
      if (next == '"') return made;
      if (next != '\\') {
        made += next;
        continue;
      }
      if (left.empty()) throw Bad("not JSON");
      char escape = left[0];
      left.remove_prefix(1);
      if (escape != 'u') {
        const char* place = std::strchr("\"\\/bfnrt", escape);
        if (!place || !escape) throw Bad("not JSON");
        made += "\"\\/\b\f\n\r\t"[place - "\"\\/bfnrt"];
        continue;
      }
      unsigned point = hex4();
      if (point >= 0xd800 && point < 0xdc00) {
        if (!take_word("\\u")) throw Bad("half of a pair");
        unsigned low = hex4();
        if (low < 0xdc00 || low > 0xdfff) throw Bad("half of a pair");
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
      }
      utf8(made, point);
    }
  }
  static void utf8(std::string& made, unsigned point) {
    if (point < 0x80) {
      made += static_cast<char>(point);
    } else if (point < 0x800) {
      made += static_cast<char>(0xc0 | point >> 6);
      made += static_cast<char>(0x80 | (point & 63));
    } else if (point < 0x10000) {
      made += static_cast<char>(0xe0 | point >> 12);
      made += static_cast<char>(0x80 | (point >> 6 & 63));
      made += static_cast<char>(0x80 | (point & 63));
    } else {
      made += static_cast<char>(0xf0 | point >> 18);
      made += static_cast<char>(0x80 | (point >> 12 & 63));
      made += static_cast<char>(0x80 | (point >> 6 & 63));
      made += static_cast<char>(0x80 | (point & 63));
    }
  }
};

// Appends the code points of UTF-8; returns false where the bytes are none.
inline bool points_of(std::string_view text, std::u32string& points) {
  for (std::size_t at = 0; at < text.size();) {
    unsigned char first = text[at];
    int size = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
    if (size == 0 || at + size > text.size()) return false;
    char32_t point = size == 1 ? first : first & (0xff >> (size + 1));
    for (int more = 1; more < size; ++more) {
      unsigned char next = text[at + more];
      if ((next & 0xc0) != 0x80) return false;
      point = point << 6 | (next & 63);
    }
    if ((size == 3 && point < 0x800) || (size == 4 && point < 0x10000) || point > 0x10ffff) return false;
    if (point >= 0xd800 && point < 0xe000) return false;
    points += point;
    at += size;
  }
  return true;
}

inline void quote(std::string& out, std::string_view text) {
  std::u32string points;
  char word[16];
  if (!points_of(text, points)) {  // bytes that are no text
    out += "{\"bytes\":\"";
    for (unsigned char byte : text) {
      std::snprintf(word, sizeof word, "%02x", byte);
      out += word;
    }
    out += "\"}";
    return;
  }
  out += '"';
  for (char32_t point : points) {
    if (point == '"' || point == '\\') {
      out += '\\';
      out += static_cast<char>(point);
    } else if (point >= 0x20 && point < 0x7f) {
      out += static_cast<char>(point);
    } else if (point < 0x10000) {
      std::snprintf(word, sizeof word, "\\u%04x", static_cast<unsigned>(point));
      out += word;
    } else {
      std::snprintf(word, sizeof word, "\\u%04x\\u%04x", 0xd800 + static_cast<unsigned>((point - 0x10000) >> 10),
                    0xdc00 + static_cast<unsigned>((point - 0x10000) & 0x3ff));
      out += word;
    }
  }
  out += '"';
}

inline std::pair<std::string_view, const Json*> tag_of(const Json& value) {
  if (value.kind != Json::object || value.fields.size() != 1) throw Bad("not a value");
  return {value.fields[0].first, &value.fields[0].second};
}

inline const std::vector<Json>& items_of(const Json& value) {
  auto [tag, payload] = tag_of(value);
  if (tag != "l" && tag != "t" && tag != "s" && tag != "frozenset") throw Bad("not a list");
  return payload->list();
}

inline __int128 integer_of(const Json& value) {
  auto [tag, payload] = tag_of(value);
  std::string_view word = payload->str();
  if (tag == "f") {
    double real = word == "nan" ? 0.5 : std::strtod(std::string(word).c_str(), nullptr);
    if (real != std::floor(real) || std::fabs(real) > 9e15) throw Bad("not an integer");
    return static_cast<__int128>(real);
  }
  if (tag != "i") throw Bad("not an integer");
  bool negative = word.starts_with("-");
  if (negative) word.remove_prefix(1);
  if (word.empty() || word.size() > 31) throw Bad("an integer that does not fit");
  __int128 found = 0;
  for (char digit : word) {
    if (!std::isxdigit(static_cast<unsigned char>(digit))) throw Bad("not an integer");
    found = found * 16 + (std::isdigit(static_cast<unsigned char>(digit)) ? digit - '0' : (digit | 32) - 'a' + 10);
  }
  return negative ? -found : found;
}

template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
concept Sequence = requires(T all) {
  all.push_back(*all.begin());
  all.size();
} && !std::same_as<T, std::string>;
template <class T>
concept Mapping = requires { typename T::mapped_type; };
template <class T>
concept Set = requires { typename T::key_type; } && !Mapping<T>;
template <class T>
concept ListNode = requires(T node) {
  node.val;
  node.next;
};
template <class T>
concept TreeNode = requires(T node) {
  node.val;
  node.left;
  node.right;
};

template <class T>
struct Codec;  // a type that cannot cross: the tests need isolation: shared

template <>
struct Codec<bool> {
  static bool decode(const Json& value) {
    if (value.kind == Json::boolean) return value.truth;
    return integer_of(value) != 0;
  }
  static void encode(std::string& out, bool value, int) { out += value ? "true" : "false"; }
};

template <>
struct Codec<char> {
  static char decode(const Json& value) {
    if (value.kind == Json::text && value.word.size() == 1) return value.word[0];
    return static_cast<char>(integer_of(value));
  }
  static void encode(std::string& out, char value, int) { quote(out, std::string_view(&value, 1)); }
};

template <class T>
  requires(std::is_integral_v<T> || std::same_as<T, __int128>)
struct Codec<T> {
  static T decode(const Json& value) {
    if (value.kind == Json::boolean) return value.truth;
    __int128 found = integer_of(value);
    T made = static_cast<T>(found);
    if (static_cast<__int128>(made) != found) throw Bad("an integer that does not fit");
    return made;
  }
  static void encode(std::string& out, T value, int) {
    bool negative = value < 0;
    unsigned __int128 left = negative ? -static_cast<unsigned __int128>(value) : static_cast<unsigned __int128>(value);
    std::string digits;
    do digits += "0123456789abcdef"[static_cast<int>(left % 16)];
    while (left /= 16);
    out += negative ? "{\"i\":\"-" : "{\"i\":\"";
    out.append(digits.rbegin(), digits.rend());
    out += "\"}";
  }
};

template <std::floating_point T>
struct Codec<T> {
  static T decode(const Json& value) {
    auto [tag, payload] = tag_of(value);
    if (tag == "i") return static_cast<T>(integer_of(value));
    if (tag != "f") throw Bad("not a number");
    const std::string& word = payload->str();
    char* end = nullptr;
    double found = std::strtod(word.c_str(), &end);
    if (word.empty() || *end) throw Bad("not a number");
    return static_cast<T>(found);
  }
  static void encode(std::string& out, T value, int) {
    double real = static_cast<double>(value);
    if constexpr (std::same_as<T, float>) {
      // The shortest decimal that names this float: 0.1f is 0.1, and not 0.10000000149.
      char word[32];
      auto end = std::to_chars(word, word + sizeof word - 1, value).ptr;
      *end = 0;
      real = std::strtod(word, nullptr);
    }
    char word[64];
    if (std::isnan(real)) std::strcpy(word, "nan");
    else if (std::isinf(real)) std::strcpy(word, real > 0 ? "inf" : "-inf");
    else std::snprintf(word, sizeof word, "%a", real);
    out += std::string("{\"f\":\"") + word + "\"}";
  }
};

template <>
struct Codec<std::string> {
  static std::string decode(const Json& value) {
    if (value.kind == Json::text) return value.word;
    auto [tag, payload] = tag_of(value);
    if (tag != "bytes" || payload->str().size() % 2) throw Bad("not a text");
    std::string made;
    for (std::size_t at = 0; at < payload->word.size(); at += 2)
      made += static_cast<char>(std::stoi(payload->word.substr(at, 2), nullptr, 16));
    return made;
  }
  static void encode(std::string& out, const std::string& value, int) { quote(out, value); }
};

template <>
struct Codec<std::nullptr_t> {
  static void encode(std::string& out, std::nullptr_t, int) { out += "null"; }
};

template <>
struct Codec<const char*> {
  static void encode(std::string& out, const char* value, int) { quote(out, value ? value : ""); }
};

template <>
struct Codec<std::string_view> {
  static void encode(std::string& out, std::string_view value, int) { quote(out, value); }
};

inline void deeper(int depth) {
  if (depth >= most_depth) throw Uncrossable("nested too deep");
}

template <class Range>
void encode_all(std::string& out, const char* tag, const Range& all, int depth) {
  deeper(depth);
  out += std::string("{\"") + tag + "\":[";
  bool first = true;
  for (const auto& item : all) {
    if (!first) out += ',';
    first = false;
    using Item = std::remove_cvref_t<decltype(item)>;
    if constexpr (std::same_as<Item, std::_Bit_reference>) Codec<bool>::encode(out, item, depth + 1);
    else Codec<Item>::encode(out, item, depth + 1);
    if (out.size() > most_bytes) throw Uncrossable("too many bytes");
  }
  out += "]}";
}

template <Sequence T>
struct Codec<T> {
  static T decode(const Json& value) {
    T made;
    for (auto& item : items_of(value)) made.push_back(Codec<typename T::value_type>::decode(item));
    return made;
  }
  static void encode(std::string& out, const T& value, int depth) { encode_all(out, "l", value, depth); }
};

template <class T, std::size_t size>
struct Codec<std::array<T, size>> {
  static std::array<T, size> decode(const Json& value) {
    auto& items = items_of(value);
    if (items.size() != size) throw Bad("an array of another size");
    std::array<T, size> made{};
    for (std::size_t at = 0; at < size; ++at) made[at] = Codec<T>::decode(items[at]);
    return made;
  }
  static void encode(std::string& out, const std::array<T, size>& value, int depth) { encode_all(out, "l", value, depth); }
};

template <Set T>
struct Codec<T> {
  static T decode(const Json& value) {
    T made;
    for (auto& item : items_of(value)) made.insert(Codec<typename T::key_type>::decode(item));
    return made;
  }
  static void encode(std::string& out, const T& value, int depth) { encode_all(out, "s", value, depth); }
};

template <Mapping T>
struct Codec<T> {
  using Key = typename T::key_type;
  using Value = typename T::mapped_type;
  static T decode(const Json& value) {
    auto [tag, payload] = tag_of(value);
    if (tag != "d") throw Bad("not a dictionary");
    T made;
    for (auto& pair : payload->list()) {
      if (pair.list().size() != 2) throw Bad("not a pair");
      made.insert({key(pair.items[0]), Codec<Value>::decode(pair.items[1])});
    }
    return made;
  }
  static void encode(std::string& out, const T& value, int depth) {
    deeper(depth);
    out += "{\"d\":[";
    bool first = true;
    for (auto& [key, item] : value) {
      out += first ? "[" : ",[";
      first = false;
      Codec<Key>::encode(out, key, depth + 1);
      out += ',';
      Codec<Value>::encode(out, item, depth + 1);
      out += ']';
    }
    out += "]}";
  }

 private:
  // JSON has texts as keys only.
  static Key key(const Json& value) {
    if constexpr (std::is_integral_v<Key> && !std::same_as<Key, char>) {
      if (value.kind == Json::text) {
        Key made{};
        auto [end, error] = std::from_chars(value.word.data(), value.word.data() + value.word.size(), made);
        if (error != std::errc() || end != value.word.data() + value.word.size()) throw Bad("not a key");
        return made;
      }
    }
    return Codec<Key>::decode(value);
  }
};

template <class... Parts>
struct Codec<std::tuple<Parts...>> {
  static std::tuple<Parts...> decode(const Json& value) {
    auto& items = items_of(value);
    if (items.size() != sizeof...(Parts)) throw Bad("a tuple of another size");
    std::size_t at = 0;
    return std::tuple<Parts...>{Codec<Parts>::decode(items[at++])...};
  }
  static void encode(std::string& out, const std::tuple<Parts...>& value, int depth) {
    deeper(depth);
    out += "{\"t\":[";
    std::apply(
        [&](const Parts&... parts) {
          bool first = true;
          (((out += first ? "" : ","), first = false, Codec<Parts>::encode(out, parts, depth + 1)), ...);
        },
        value);
    out += "]}";
  }
};

template <class One, class Other>
struct Codec<std::pair<One, Other>> {
  static std::pair<One, Other> decode(const Json& value) {
    auto [one, other] = Codec<std::tuple<One, Other>>::decode(value);
    return {std::move(one), std::move(other)};
  }
  static void encode(std::string& out, const std::pair<One, Other>& value, int depth) {
    Codec<std::tuple<One, Other>>::encode(out, value, depth);
  }
};

template <class T>
struct Codec<std::optional<T>> {
  static std::optional<T> decode(const Json& value) {
    if (value.kind == Json::null) return std::nullopt;
    return Codec<T>::decode(value);
  }
  static void encode(std::string& out, const std::optional<T>& value, int depth) {
    if (value) Codec<T>::encode(out, *value, depth);
    else out += "null";
  }
};

// LeetCode's nodes: a list of values, and a tree level by level with null for a missing child.
template <ListNode T>
struct Codec<T*> {
  static T* decode(const Json& value) {
    T* first = nullptr;
    T** last = &first;
    if (value.kind == Json::null) return first;
    for (auto& item : items_of(value)) {
      *last = new T{};
      (*last)->val = Codec<decltype(T::val)>::decode(item);
      (*last)->next = nullptr;
      last = &(*last)->next;
    }
    return first;
  }
  static void encode(std::string& out, const T* node, int depth) {
    std::vector<decltype(T::val)> values;
    for (; node; node = node->next) {
      if (values.size() >= 100000) throw Uncrossable("a list without an end");
      values.push_back(node->val);
    }
    encode_all(out, "l", values, depth);
  }
};

template <TreeNode T>
struct Codec<T*> {
  static T* decode(const Json& value) {
    if (value.kind == Json::null) return nullptr;
    auto& items = items_of(value);
    std::size_t next = 0;
    auto take = [&]() -> T* {
      if (next >= items.size() || items[next].kind == Json::null) return ++next, nullptr;
      T* made = new T{};
      made->val = Codec<decltype(T::val)>::decode(items[next++]);
      made->left = made->right = nullptr;
      return made;
    };
    T* root = take();
    std::deque<T*> waiting;
    if (root) waiting.push_back(root);
    while (!waiting.empty()) {
      T* node = waiting.front();
      waiting.pop_front();
      if ((node->left = take())) waiting.push_back(node->left);
      if ((node->right = take())) waiting.push_back(node->right);
    }
    return root;
  }
  static void encode(std::string& out, const T* root, int depth) {
    std::vector<std::optional<decltype(T::val)>> values;
    std::deque<const T*> waiting{root};
    while (!waiting.empty()) {
      const T* node = waiting.front();
      waiting.pop_front();
      if (values.size() >= 100000) throw Uncrossable("a tree without an end");
      if (!node) {
        values.push_back(std::nullopt);
        continue;
      }
      values.push_back(node->val);
      waiting.push_back(node->left);
      waiting.push_back(node->right);
    }
    while (!values.empty() && !values.back()) values.pop_back();
    encode_all(out, "l", values, depth);
  }
};

template <class T>
std::string encoded(const T& value) {
  std::string out;
  Codec<T>::encode(out, value, 0);
  if (out.size() > most_bytes) throw Uncrossable("too many bytes");
  return out;
}

inline void write_all(int descriptor, std::string_view data) {
  while (!data.empty()) {
    ssize_t count = ::write(descriptor, data.data(), data.size());
    if (count <= 0) throw Lost{};
    data.remove_prefix(static_cast<std::size_t>(count));
  }
}

inline std::string read_exactly(int descriptor, std::size_t size) {
  std::string data(size, '\0');
  for (std::size_t done = 0; done < size;) {
    ssize_t count = ::read(descriptor, data.data() + done, size - done);
    if (count <= 0) throw Lost{};
    done += static_cast<std::size_t>(count);
  }
  return data;
}

// Frames over a stream socket: four bytes of length, big-endian, then a JSON object.
inline void send_frame(int descriptor, std::string_view body) {
  if (body.size() > most_bytes) throw Uncrossable("too many bytes");
  std::string frame;
  for (int shift = 24; shift >= 0; shift -= 8) frame += static_cast<char>(body.size() >> shift & 255);
  write_all(descriptor, frame.append(body));
}

inline Json receive_frame(int descriptor) {
  std::size_t size = 0;
  for (unsigned char byte : read_exactly(descriptor, 4)) size = size << 8 | byte;
  if (size > most_bytes) throw Bad("a frame longer than the limit");
  Json found = Reader(read_exactly(descriptor, size)).whole();
  if (found.kind != Json::object) throw Bad("not an object");
  return found;
}

inline std::string all_of(int descriptor) {
  std::string data;
  char part[65536];
  for (ssize_t count; (count = ::read(descriptor, part, sizeof part)) > 0;) data.append(part, static_cast<std::size_t>(count));
  return data;
}

inline std::string type_name(const std::type_info& type) {
  int status = 0;
  char* name = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string found = name ? name : type.name();
  std::free(name);
  return found.substr(0, 100);
}

}  // namespace rewarden
