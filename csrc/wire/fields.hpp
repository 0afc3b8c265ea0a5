// The columns of one span while they are found.
#pragma once
#include "wire/row.hpp"

namespace hone::wire {

struct RowMaker::Fields {
  Text type, level, status, status_message, name, trace_name, model, input, output;
  Text prompt_name, prompt_version, session, user, environment, release, version, scope;
  std::string parameters, metadata, attributes, events;  // JSON, empty for none
  std::vector<Text> tags;  // sorted, all different
  Usage usage;
  int64_t input_tokens = 0, output_tokens = 0, total_tokens = 0;
  std::optional<Cost> cost;
  std::optional<int64_t> first_token_ns;
};

}  // namespace hone::wire
