#include <charconv>
#include <cmath>
#include <cstring>

#include "wire/json.hpp"

namespace hone::wire {

namespace {

constexpr char kHex[] = "0123456789abcdef";

char escape_of(unsigned char c) {
  switch (c) {
    case '"': return '"';
    case '\\': return '\\';
    case '\b': return 'b';
    case '\f': return 'f';
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    default: return 0;
  }
}

// Shortest digits that read back; decimal notation from 1e-5 up to 1e16, as orjson prints.
void append_real(std::string& out, double number) {
  if (number == 0) {
    out += std::signbit(number) ? "-0.0" : "0.0";
    return;
  }
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  const Text all(buffer, size_t(end - buffer));
  const size_t e = all.find('e');
  int exponent = 0;
  const char* digits_of_exponent = buffer + e + 1 + (buffer[e + 1] == '+');
  std::from_chars(digits_of_exponent, end, exponent);
  std::string digits;
  for (const char c : all.substr(0, e))
    if (c >= '0' && c <= '9') digits += c;
  if (number < 0) out += '-';
  const int count = int(digits.size()), point = exponent + 1;  // digits before the decimal point
  if (count <= point && point <= 16) {
    out += digits;
    out.append(size_t(point - count), '0');
    out += ".0";
  } else if (0 < point && point <= 16) {
    out.append(digits, 0, size_t(point));
    out += '.';
    out.append(digits, size_t(point));
  } else if (-5 < point && point <= 0) {
    out += "0.";
    out.append(size_t(-point), '0');
    out += digits;
  } else {
    out += digits[0];
    if (count > 1) (out += '.').append(digits, 1);
    out += exponent < 0 ? "e" : "e+";
    out += std::to_string(exponent);
  }
}

// Whether one of eight bytes needs an escape: a control character, a quote or a backslash.
bool any_escape(const char* at) {
  constexpr uint64_t ones = 0x0101010101010101ull, high = 0x8080808080808080ull;
  uint64_t eight;
  std::memcpy(&eight, at, sizeof eight);
  const auto zero_in = [](uint64_t x) { return (x - ones) & ~x & high; };
  return ((eight - ones * 0x20) & ~eight & high) | zero_in(eight ^ (ones * '"')) | zero_in(eight ^ (ones * '\\'));
}

}  // namespace

void json_append(std::string& out, Text text) {
  out += '"';
  size_t clean = 0;
  for (size_t i = 0; i < text.size(); i++) {
    if (i + 8 <= text.size() && !any_escape(text.data() + i)) {
      i += 7;
      continue;
    }
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    out.append(text, clean, i - clean);
    clean = i + 1;
    out += '\\';
    if (const char short_form = escape_of(c)) {
      out += short_form;
    } else {
      out += "u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  out.append(text, clean);
  out += '"';
}

void json_append(std::string& out, int64_t number) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  out.append(buffer, size_t(end - buffer));
}

void json_append(std::string& out, const Value& value) {
  switch (value.kind) {
    case Kind::none: out += "null"; return;
    case Kind::text: json_append(out, value.text); return;
    case Kind::integer: json_append(out, value.integer); return;
    case Kind::real: append_real(out, value.real); return;
    case Kind::boolean: out += value.truth ? "true" : "false"; return;
    default: break;
  }
  const bool is_map = value.kind == Kind::map;
  out += is_map ? '{' : '[';
  for (size_t i = 0; i < value.nest->items.size(); i++) {
    if (i) out += ',';
    if (is_map) {
      json_append(out, value.nest->keys[i]);
      out += ':';
    }
    json_append(out, value.nest->items[i]);
  }
  out += is_map ? '}' : ']';
}

}  // namespace hone::wire
