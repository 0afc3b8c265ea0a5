#include "wire/rates.hpp"

#include <algorithm>

namespace hone::wire {

namespace {

std::string digits_of(Units units) {
  std::string out;
  for (; units > 0; units /= 10) out += char('0' + int(units % 10));
  std::reverse(out.begin(), out.end());
  return out;
}

const Units* unit_of(const Rate& rate, const std::string& part) {
  auto found = rate.per_part.find(part);
  if (found == rate.per_part.end() && part.starts_with("input_")) found = rate.per_part.find("input");
  if (found == rate.per_part.end() && part.starts_with("output_")) found = rate.per_part.find("output");
  return found == rate.per_part.end() ? nullptr : &found->second;
}

void append16(std::string& out, int number) {
  out += char(number >> 8);
  out += char(number);
}

}  // namespace

bool is_flat(const Rate& rate, const Usage& usage) {
  Units tokens = 0;
  for (const auto& [part, count] : usage) {
    if (count < 0) return false;
    tokens += count;
  }
  return tokens <= rate.flat_up_to;
}

std::optional<Cost> cost_of(const Rate& rate, const Usage& usage) {
  Cost cost;
  std::optional<Units> whole;
  for (const auto& [part, count] : usage) {
    const Units* unit = unit_of(rate, part);
    if (!unit) continue;
    if (part == "total") {
      whole = *unit * count;
      continue;
    }
    cost.parts.emplace_back(part, *unit * count);
    cost.total += *unit * count;
  }
  if (whole) cost.total = *whole;
  if (!whole && cost.parts.empty()) return std::nullopt;
  return cost;
}

std::string decimal(Units units) {
  std::string digits = digits_of(units);
  if (digits.size() <= kDecimals) digits.insert(0, kDecimals + 1 - digits.size(), '0');
  std::string whole = digits.substr(0, digits.size() - kDecimals), part = digits.substr(digits.size() - kDecimals);
  part.erase(part.find_last_not_of('0') + 1);
  return part.empty() ? whole : whole + '.' + part;
}

std::string numeric(Units units) {
  const std::string text = decimal(units);
  const size_t point = text.find('.');
  const int scale = point == std::string::npos ? 0 : int(text.size() - point - 1);
  // Groups of four digits; the last of the four behind the point reaches down to 1e-16.
  std::vector<int> groups;
  for (Units left = units * 10; left > 0; left /= 10000) groups.insert(groups.begin(), int(left % 10000));
  int weight = int(groups.size()) - 5;
  while (!groups.empty() && groups.back() == 0) groups.pop_back();
  std::string out;
  append16(out, int(groups.size()));
  append16(out, groups.empty() ? 0 : weight);
  append16(out, 0);
  append16(out, scale);
  for (const int group : groups) append16(out, group);
  return out;
}

}  // namespace hone::wire
