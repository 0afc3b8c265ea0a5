// A whole export: parts of traces, and what is left to the reference as an export of its own.
#pragma once
#include <map>

#include "wire/row.hpp"

namespace hone::wire {

using Names = std::vector<std::string>;
// The plans known for the keys of a span's attributes (joined by `signature`); null: left to the reference.
using Specs = std::unordered_map<std::string, std::shared_ptr<const Spec>>;

std::string signature(const std::vector<Text>& keys);

inline constexpr size_t kMaxAsked = 32, kMaxKeys = 256, kMaxSignature = 16 * 1024;

struct Decoded {
  std::vector<Part> parts;
  std::string rest;
  std::vector<Names> unknown_names;
  std::set<std::string> unknown_models;
  bool is_complete() const { return unknown_names.empty() && unknown_models.empty(); }
};

struct Setting {
  const Rules& rules;
  const Specs& specs;
  const Rates& rates;
  int64_t project_id;
  uint64_t now_ns;
  std::pair<int64_t, int64_t> window_us;
  bool asks;  // whether what is unknown is named (up to kMaxAsked of a kind), else it is the reference's
};

// Throws Unsupported where the body as a whole is left to the reference.
Decoded decode(Text body, const Setting& setting);

}  // namespace hone::wire
