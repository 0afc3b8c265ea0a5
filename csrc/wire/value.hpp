// Attribute values as sent: texts are views into the body (or into the arena of a JSON document).
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hone::wire {

using Text = std::string_view;

// What this decoder leaves to the Python reference: never an error, only "not here".
struct Unsupported {};

enum class Kind : uint8_t { none, text, integer, real, boolean, list, map };

struct Nest;

struct Value {
  Kind kind = Kind::none;
  bool truth = false;
  Text text;
  union {
    int64_t integer = 0;
    double real;
  };
  std::shared_ptr<Nest> nest;  // of lists and maps

  bool says_nothing() const { return kind == Kind::none || (kind == Kind::text && text.empty()); }
};

struct Nest {
  std::vector<Text> keys;  // of maps, all different
  std::vector<Value> items;
};

// Owns texts that stand nowhere in the body.
class Arena {
 public:
  Text keep(std::string text) { return texts_.emplace_back(std::move(text)); }

 private:
  std::deque<std::string> texts_;
};

// NaN and the infinities have no JSON: they become their names, as `number_named` does.
Value real_value(double number);

bool is_utf8(Text text);

// Throws Unsupported where `keys` repeat or are too many to look.
void check_distinct(const std::vector<Text>& keys);

}  // namespace hone::wire
