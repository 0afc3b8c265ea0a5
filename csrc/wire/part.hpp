// What one export says of one trace: encoded rows and all that its summary needs (core/summary).
#pragma once
#include <set>
#include <unordered_set>

#include "wire/rates.hpp"

namespace hone::wire {

// Rows of traces_observation in the binary form of COPY.
struct Rows {
  std::string data;
  std::vector<uint32_t> starts;
  std::string span_ids;  // eight bytes each

  size_t size() const { return starts.size(); }
};

// Of several candidates the least key stands, as in core/summary.
struct Part {
  std::string trace_id;
  std::shared_ptr<Rows> rows = std::make_shared<Rows>();
  std::unordered_set<uint64_t> span_ids;
  int64_t started_us = INT64_MAX, ended_us = INT64_MIN, latest_start_us = INT64_MIN;
  std::optional<int64_t> first_token_us;
  std::optional<std::pair<std::string, std::string>> name, input, output;  // key of preference, value
  std::optional<std::string> user, session, environment, release, version;
  std::set<std::string, std::less<>> models, tags, prompts;
  int64_t errors = 0, input_tokens = 0, output_tokens = 0, total_tokens = 0, decode_tokens = 0, decode_us = 0;
  std::optional<Units> cost;
  int64_t unpriced = 0;
};

}  // namespace hone::wire
