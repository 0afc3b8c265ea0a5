#include "wire/usage.hpp"

#include <algorithm>
#include <array>

namespace hone::wire {

namespace {

constexpr int64_t kMaxCount = int64_t(1) << 40;
constexpr std::array<Text, 2> kSides = {"input", "output"};

std::optional<int64_t> whole(const Value& value) {
  if (value.kind == Kind::integer && value.integer >= 0 && value.integer < kMaxCount) return value.integer;
  if (value.kind == Kind::text || value.kind == Kind::real) throw Unsupported{};
  return std::nullopt;
}

int64_t* find(Usage& usage, Text part) {
  const auto at = std::find_if(usage.begin(), usage.end(), [&](const auto& entry) { return entry.first == part; });
  return at == usage.end() ? nullptr : &at->second;
}

void put(Usage& usage, std::string part, const Value& value) {
  const auto count = whole(value);
  if (!count) return;
  if (int64_t* known = find(usage, part)) *known = *count;
  else usage.emplace_back(std::move(part), *count);
}

bool is_detail(Text part, Text side) { return part.size() > side.size() && part.starts_with(side); }

// Details that are more than their side were never in it: how these are counted, the reference decides.
void check_included(Usage& usage) {
  for (const Text side : kSides) {
    int64_t details = 0;
    for (const auto& [part, count] : usage)
      if (is_detail(part, side)) details += count;
    if (const int64_t* total = find(usage, side); total && details > *total) throw Unsupported{};
  }
}

// Takes details out of the side that includes them, never below zero.
void take_out(Usage& usage, bool with_underscore) {
  for (const Text side : kSides) {
    int64_t details = 0;
    for (const auto& [part, count] : usage)
      if (is_detail(part, side) && (!with_underscore || part[side.size()] == '_')) details += count;
    if (int64_t* total = find(usage, side); total && details) *total = std::max<int64_t>(0, *total - details);
  }
}

void add_total(Usage& usage) {
  if (usage.empty() || find(usage, "total")) return;
  int64_t sum = 0;
  for (const auto& [part, count] : usage) sum += count;
  usage.emplace_back("total", sum);
}

bool is_openai(const Nest& nest, const Rules& rules) {
  bool any = false;
  for (const Text key : nest.keys) {
    if (key.ends_with("_details")) continue;
    if (rules.openai_usage.find(key) == rules.openai_usage.end()) return false;
    any = true;
  }
  return any;
}

Usage openai(const Nest& nest, const Rules& rules) {
  Usage usage;
  for (size_t i = 0; i < nest.keys.size(); i++) {
    const Text key = nest.keys[i];
    const Value& value = nest.items[i];
    if (const auto known = rules.openai_usage.find(key); known != rules.openai_usage.end()) {
      put(usage, known->second, value);
      continue;
    }
    if (value.kind == Kind::text) throw Unsupported{};
    if (value.kind != Kind::map) continue;
    const std::string side = key.starts_with("prompt") || key.starts_with("input") ? "input_" : "output_";
    for (size_t n = 0; n < value.nest->keys.size(); n++) put(usage, side + std::string(value.nest->keys[n]), value.nest->items[n]);
  }
  take_out(usage, true);
  return usage;
}

// The parts under their own names; details are taken out where the sides alone make up the total.
Usage plain(const Nest& nest, const Rules& rules) {
  Usage usage;
  for (size_t i = 0; i < nest.keys.size(); i++) {
    if (rules.aliases.contains(nest.keys[i])) throw Unsupported{};
    put(usage, std::string(nest.keys[i]), nest.items[i]);
  }
  int64_t sides = 0;
  for (const Text side : kSides)
    if (const int64_t* count = find(usage, side)) sides += *count;
  const int64_t* total = find(usage, "total");
  if (total && *total == sides) take_out(usage, false);
  return usage;
}

}  // namespace

Usage usage_of_attributes(const Spec& spec, const std::vector<Value>& values) {
  Usage usage;
  for (const auto& [part, where] : spec.tokens)
    for (const int i : where)
      if (!values[size_t(i)].says_nothing()) {
        put(usage, part, values[size_t(i)]);
        break;
      }
  if (spec.has_parts) check_included(usage), take_out(usage, true);
  add_total(usage);
  return usage;
}

Usage usage_of_mapping(const Value& mapping, const Rules& rules) {
  const Nest& nest = *mapping.nest;
  Usage usage = is_openai(nest, rules) ? openai(nest, rules) : plain(nest, rules);
  add_total(usage);
  return usage;
}

}  // namespace hone::wire
