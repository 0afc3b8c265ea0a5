// What the tokens of a model cost, exactly: integers of 1e-15 USD.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wire/value.hpp"

namespace hone::wire {

using Units = __int128;
using Usage = std::vector<std::pair<std::string, int64_t>>;

inline constexpr int kDecimals = 15;

struct Rate {
  int64_t flat_up_to = INT64_MAX;         // tokens up to which this price holds; what more costs, the reference knows
  uint64_t since_ns = 0;                  // before, there was another price, which the reference knows
  std::map<std::string, Units> per_part;  // empty: the price is unknown
};

using Rates = std::map<std::string, Rate, std::less<>>;

struct Cost {
  std::vector<std::pair<std::string, Units>> parts;
  Units total = 0;
};

// Whether the price surely holds for so many tokens of all parts together.
bool is_flat(const Rate& rate, const Usage& usage);

std::optional<Cost> cost_of(const Rate& rate, const Usage& usage);

std::string decimal(Units units);

// PostgreSQL's binary form of numeric.
std::string numeric(Units units);

}  // namespace hone::wire
