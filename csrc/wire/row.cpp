#include "wire/row.hpp"

#include <algorithm>

#include "wire/fields.hpp"
#include "wire/json.hpp"

namespace hone::wire {

namespace {

constexpr int64_t k2000Us = 946'684'800'000'000;
constexpr int kColumns = 36;
constexpr int64_t kLatest = INT64_MAX;

void append_big(std::string& out, uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += char(number >> shift);
}

class Writer {
 public:
  Writer(std::string& out, const Rules& rules) : out_(out), rules_(rules) {}

  void null() { append_big(out_, 0xFFFFFFFF, 4); }
  void bytes(Text value) {
    append_big(out_, value.size(), 4);
    out_ += value;
  }
  void number(int64_t value) {
    append_big(out_, 8, 4);
    append_big(out_, uint64_t(value), 8);
  }
  void number(std::optional<int64_t> value) { value ? number(*value) : null(); }
  void json(const std::string& value) { value.empty() ? null() : bytes(value); }
  // A text of a column that may be cut, which is left to the reference.
  void text(Column column, Text value, bool may_be_empty = false) {
    if (value.empty() && !may_be_empty) return null();
    if (value.size() > rules_.limits[size_t(column)]) throw Unsupported{};
    if (value.find('\0') != Text::npos) throw Unsupported{};
    bytes(value);
  }

 private:
  std::string& out_;
  const Rules& rules_;
};

// Keeps `value` under its key of preference (a mark or none, root or not, a number, the id) where that is less.
void keep_first(std::optional<std::pair<std::string, std::string>>& kept, std::optional<char> mark, bool is_child, int64_t number,
                Text span_id, Text value) {
  char key[18];
  size_t n = 0;
  if (mark) key[n++] = *mark;
  key[n++] = is_child ? '\1' : '\0';
  for (int shift = 56; shift >= 0; shift -= 8) key[n++] = char(uint64_t(number) >> shift);
  n += span_id.copy(key + n, 8);
  if (!kept || Text(key, n) < kept->first) kept.emplace(std::string(key, n), value);
}

std::string json_usage(const Usage& usage) {
  std::string out;
  for (const auto& [part, number] : usage) {
    out += out.empty() ? '{' : ',';
    json_append(out, Text(part));
    out += ':';
    json_append(out, number);
  }
  return out.empty() ? out : out + '}';
}

std::string json_cost(const Cost& cost) {
  std::string out = "{";
  for (const auto& [part, units] : cost.parts) {
    json_append(out, Text(part));
    out += ':';
    json_append(out, Text(decimal(units)));
    out += ',';
  }
  out += "\"total\":";
  json_append(out, Text(decimal(cost.total)));
  return out + '}';
}

std::string json_tags(const std::vector<Text>& tags) {
  std::string out;
  for (const Text tag : tags) {
    out += out.empty() ? '[' : ',';
    json_append(out, tag);
  }
  return out.empty() ? out : out + ']';
}

bool is_id(Text bytes, size_t length) {
  return bytes.size() == length && std::any_of(bytes.begin(), bytes.end(), [](char c) { return c != 0; });
}

int64_t micros(uint64_t ns) { return int64_t(ns / 1000); }

void keep_least_text(std::optional<std::string>& kept, Text value) {
  if (!value.empty() && (!kept || value < *kept)) kept = value;
}

}  // namespace

void RowMaker::settle(Span& span) const {
  if (!is_id(span.trace_id, 16) || !is_id(span.span_id, 8)) throw Unsupported{};
  if (span.start_ns > uint64_t(INT64_MAX) || span.end_ns > uint64_t(INT64_MAX)) throw Unsupported{};
  if (!span.start_ns) span.start_ns = span.end_ns ? span.end_ns : now_ns_;
  span.end_ns = std::max(span.start_ns, span.end_ns);
  if (!is_id(span.parent, 8)) span.parent = {};
  const int64_t start_us = micros(span.start_ns);
  if (start_us < window_us_.first || start_us >= window_us_.second) throw Unsupported{};
}

void RowMaker::add(const Span& span, const Spec& spec, const Context& context, Part& part, Arena& arena) {
  Fields f;
  fill(f, span, spec, context, arena);
  const size_t start = part.rows->data.size();
  try {
    write(f, span, *part.rows);
  } catch (const Unsupported&) {
    part.rows->data.resize(start);
    throw;
  }
  part.rows->starts.push_back(uint32_t(start));
  part.rows->span_ids += span.span_id;
  sum_up(f, span, part);
}

void RowMaker::write(const Fields& f, const Span& span, Rows& rows) const {
  std::string& out = rows.data;
  Writer w(out, rules_);
  append_big(out, kColumns, 2);
  w.number(project_id_);
  w.number(int64_t(0));  // seq, which the transaction hands out
  w.bytes(span.trace_id);
  w.bytes(span.span_id);
  w.number(micros(span.start_ns) - k2000Us);
  w.number(micros(span.end_ns) - k2000Us);
  span.parent.empty() ? w.null() : w.bytes(span.parent);
  w.bytes(f.type);
  w.bytes(f.level);
  w.bytes(f.status);
  w.text(Column::status_message, f.status_message);
  w.text(Column::name, f.name, true);
  w.text(Column::trace_name, f.trace_name);
  w.text(Column::model, f.model);
  w.json(f.parameters);
  w.text(Column::input, f.input);
  w.text(Column::output, f.output);
  w.json(f.metadata);
  w.json(f.attributes);
  w.json(f.events);
  w.json(json_usage(f.usage));
  const bool counted = !f.usage.empty();
  for (const int64_t tokens : {f.input_tokens, f.output_tokens, f.total_tokens}) counted ? w.number(tokens) : w.null();
  f.cost ? w.bytes(numeric(f.cost->total)) : w.null();
  f.cost ? w.bytes(json_cost(*f.cost)) : w.null();
  f.first_token_ns ? w.number(micros(uint64_t(*f.first_token_ns)) - k2000Us) : w.null();
  w.text(Column::prompt_name, f.prompt_name);
  w.text(Column::prompt_version, f.prompt_version);
  w.text(Column::session_id, f.session);
  w.text(Column::user_id, f.user);
  w.text(Column::environment, f.environment);
  w.text(Column::release, f.release);
  w.text(Column::version, f.version);
  w.json(json_tags(f.tags));
  w.text(Column::scope, f.scope);
}

void RowMaker::sum_up(const Fields& f, const Span& span, Part& part) const {
  const int64_t start_us = micros(span.start_ns), end_us = micros(span.end_ns);
  const bool is_child = !span.parent.empty();
  part.started_us = std::min(part.started_us, start_us);
  part.ended_us = std::max(part.ended_us, end_us);
  part.latest_start_us = std::max(part.latest_start_us, start_us);
  if (f.first_token_ns) part.first_token_us = std::min(part.first_token_us.value_or(INT64_MAX), micros(uint64_t(*f.first_token_ns)));
  const bool names_trace = !f.trace_name.empty();
  keep_first(part.name, names_trace ? '\0' : '\1', is_child, start_us, span.span_id, names_trace ? f.trace_name : f.name);
  if (!f.input.empty()) keep_first(part.input, std::nullopt, is_child, start_us, span.span_id, f.input);
  if (!f.output.empty()) keep_first(part.output, std::nullopt, is_child, kLatest - end_us, span.span_id, f.output);
  keep_least_text(part.user, f.user);
  keep_least_text(part.session, f.session);
  keep_least_text(part.environment, f.environment);
  keep_least_text(part.release, f.release);
  keep_least_text(part.version, f.version);
  if (!f.model.empty() && !part.models.contains(f.model)) part.models.emplace(f.model);
  for (const Text tag : f.tags)
    if (!part.tags.contains(tag)) part.tags.emplace(tag);
  if (!f.prompt_name.empty()) part.prompts.insert(std::string(f.prompt_name) + '@' + std::string(f.prompt_version));
  part.errors += f.status == "error" || f.level == "ERROR";
  part.input_tokens += f.input_tokens;
  part.output_tokens += f.output_tokens;
  part.total_tokens += f.total_tokens;
  if (f.usage.empty()) return;
  if (f.type == "generation") {
    const int64_t since = f.first_token_ns ? micros(uint64_t(*f.first_token_ns)) : start_us;
    part.decode_tokens += f.output_tokens;
    part.decode_us += std::max<int64_t>(0, end_us - since);
  }
  if (f.cost) part.cost = part.cost.value_or(0) + f.cost->total;
  else part.unpriced++;
}

}  // namespace hone::wire
