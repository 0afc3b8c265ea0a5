#include <charconv>

#include "wire/json.hpp"

namespace hone::wire {

namespace {

constexpr int kMaxDepth = 64;

class Parser {
 public:
  Parser(Text text, Arena& arena) : at_(text.data()), end_(at_ + text.size()), arena_(arena) {}

  Value document() {
    Value value = parse(0);
    space();
    if (at_ != end_) throw Unsupported{};
    return value;
  }

 private:
  char peek() const {
    if (at_ == end_) throw Unsupported{};
    return *at_;
  }

  void space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r')) at_++;
  }

  bool take(char c) {
    space();
    if (peek() != c) return false;
    at_++;
    return true;
  }

  void want(Text word) {
    if (Text(at_, size_t(end_ - at_)).substr(0, word.size()) != word) throw Unsupported{};
    at_ += word.size();
  }

  Value parse(int depth) {
    if (depth > kMaxDepth) throw Unsupported{};
    space();
    Value value;
    switch (peek()) {
      case '{': return nest(Kind::map, '}', depth);
      case '[': return nest(Kind::list, ']', depth);
      case '"': value.kind = Kind::text, value.text = text(); return value;
      case 't': want("true"), value.kind = Kind::boolean, value.truth = true; return value;
      case 'f': want("false"), value.kind = Kind::boolean; return value;
      case 'n': want("null"); return value;
      default: return number();
    }
  }

  Value nest(Kind kind, char close, int depth) {
    at_++;
    Value value;
    value.kind = kind;
    value.nest = std::make_shared<Nest>();
    if (take(close)) return value;
    do {
      if (kind == Kind::map) {
        space();
        if (peek() != '"') throw Unsupported{};
        value.nest->keys.push_back(text());
        if (!take(':')) throw Unsupported{};
      }
      value.nest->items.push_back(parse(depth + 1));
    } while (take(','));
    if (!take(close)) throw Unsupported{};
    check_distinct(value.nest->keys);
    return value;
  }

  // The inside of a string: a view where nothing is escaped.
  Text text() {
    const char* start = ++at_;
    while (peek() != '"' && peek() != '\\') {
      if (static_cast<unsigned char>(*at_) < 0x20) throw Unsupported{};
      at_++;
    }
    if (*at_ == '"') return {start, size_t(at_++ - start)};
    std::string out(start, at_);
    for (; peek() != '"'; at_++) {
      if (static_cast<unsigned char>(*at_) < 0x20) throw Unsupported{};
      if (*at_ != '\\') out += *at_;
      else if (at_ + 1 != end_ && at_[1] == 'u') append_unicode(out);
      else out += escaped();
    }
    at_++;
    return arena_.keep(std::move(out));
  }

  unsigned hex4() {
    unsigned code = 0;
    if (end_ - at_ < 4 || std::from_chars(at_, at_ + 4, code, 16).ptr != at_ + 4) throw Unsupported{};
    at_ += 4;
    return code;
  }

  // \uXXXX or a pair of them; leaves `at_` on the last digit. A lone surrogate is the reference's.
  void append_unicode(std::string& out) {
    at_ += 2;
    unsigned code = hex4();
    if (code >= 0xDC00 && code <= 0xDFFF) throw Unsupported{};
    if (code >= 0xD800 && code <= 0xDBFF) {
      want("\\u");
      const unsigned low = hex4();
      if (low < 0xDC00 || low > 0xDFFF) throw Unsupported{};
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    at_--;
    if (code < 0x80) {
      out += char(code);
    } else if (code < 0x800) {
      out += char(0xC0 | code >> 6);
      out += char(0x80 | (code & 63));
    } else {
      if (code < 0x10000) {
        out += char(0xE0 | code >> 12);
      } else {
        out += char(0xF0 | code >> 18);
        out += char(0x80 | (code >> 12 & 63));
      }
      out += char(0x80 | (code >> 6 & 63));
      out += char(0x80 | (code & 63));
    }
  }

  // Escapes of one character.
  char escaped() {
    at_++;
    switch (peek()) {
      case '"': case '\\': case '/': return *at_;
      case 'b': return '\b';
      case 'f': return '\f';
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      default: throw Unsupported{};
    }
  }

  Value number() {
    const char* start = at_;
    const auto digits = [&] {
      const char* first = at_;
      while (at_ != end_ && *at_ >= '0' && *at_ <= '9') at_++;
      if (at_ == first) throw Unsupported{};
      return at_ - first;
    };
    if (peek() == '-') at_++;
    const bool starts_with_zero = peek() == '0';
    const auto whole = digits();
    if (starts_with_zero && whole > 1) throw Unsupported{};
    bool is_real = false;
    if (at_ != end_ && *at_ == '.') is_real = true, at_++, digits();
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      is_real = true, at_++;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) at_++;
      digits();
    }
    return is_real ? real(start) : integer(start);
  }

  Value integer(const char* start) {
    Value value;
    value.kind = Kind::integer;
    const auto found = std::from_chars(start, at_, value.integer);
    if (found.ec != std::errc{} || (value.integer == 0 && *start == '-')) throw Unsupported{};
    return value;
  }

  Value real(const char* start) {
    Value value;
    value.kind = Kind::real;
    if (std::from_chars(start, at_, value.real).ec != std::errc{}) throw Unsupported{};
    return value;
  }

  const char* at_;
  const char* end_;
  Arena& arena_;
};

}  // namespace

Value json_value(Text text, Arena& arena) { return Parser(text, arena).document(); }

Value json_object(Text text, Arena& arena) {
  Value value = json_value(text, arena);
  if (value.kind != Kind::map) throw Unsupported{};
  return value;
}

}  // namespace hone::wire
