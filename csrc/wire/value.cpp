#include "wire/value.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace hone::wire {

namespace {

constexpr size_t kMaxKeys = 256;

// Length of the valid UTF-8 sequence at `p` (at most `left` bytes), 0 where there is none.
size_t sequence(const unsigned char* p, size_t left) {
  const auto follows = [&](size_t i) { return i < left && (p[i] & 0xC0) == 0x80; };
  if (p[0] < 0x80) return 1;
  if (p[0] >= 0xC2 && p[0] <= 0xDF) return follows(1) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] <= 0xEF) {
    if (!follows(1) || !follows(2)) return 0;
    const bool overlong = p[0] == 0xE0 && p[1] < 0xA0, surrogate = p[0] == 0xED && p[1] > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  if (p[0] >= 0xF0 && p[0] <= 0xF4) {
    if (!follows(1) || !follows(2) || !follows(3)) return 0;
    const bool overlong = p[0] == 0xF0 && p[1] < 0x90, beyond = p[0] == 0xF4 && p[1] > 0x8F;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

}  // namespace

Value real_value(double number) {
  Value value;
  if (std::isfinite(number)) {
    value.kind = Kind::real;
    value.real = number;
  } else {
    value.kind = Kind::text;
    value.text = std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
  }
  return value;
}

bool is_utf8(Text text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  size_t left = text.size();
  while (left) {
    uint64_t eight;
    if (left >= 8 && (std::memcpy(&eight, p, 8), !(eight & 0x8080808080808080ull))) {
      p += 8, left -= 8;
      continue;
    }
    const size_t length = sequence(p, left);
    if (!length) return false;
    p += length, left -= length;
  }
  return true;
}

void check_distinct(const std::vector<Text>& keys) {
  if (keys.size() > kMaxKeys) throw Unsupported{};
  std::vector<Text> sorted(keys);
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) throw Unsupported{};
}

}  // namespace hone::wire
