#include "wire/fields.hpp"

#include <algorithm>

#include "wire/json.hpp"
#include "wire/usage.hpp"

namespace hone::wire {

namespace {

constexpr int64_t kMaxCount = int64_t(1) << 40;
constexpr double kMaxSeconds = 1e9;
constexpr size_t kMaxModels = 32;  // asked for at once

using Values = std::vector<Value>;

const Value* first(const Values& values, const Indices& where) {
  for (const int i : where)
    if (!values[size_t(i)].says_nothing()) return &values[size_t(i)];
  return nullptr;
}

Text first_text(const Values& values, const Indices& where, Arena& arena) {
  const Value* value = first(values, where);
  if (!value) return {};
  if (value->kind == Kind::text) return value->text;
  if (value->kind != Kind::integer) throw Unsupported{};
  return arena.keep(std::to_string(value->integer));
}

// As first_text, where anything but a text says nothing.
Text word(const Values& values, const Indices& where) {
  for (const int i : where)
    if (values[size_t(i)].kind == Kind::text) return values[size_t(i)].text;
  return {};
}

// With `arena` given, texts are JSON and stand there as what they say.
std::string rendered(const Template& pieces, const Values& values, Arena* arena = nullptr) {
  std::string out;
  for (const Piece& piece : pieces) {
    out += piece.literal;
    if (piece.index < 0) continue;
    const Value& value = values[size_t(piece.index)];
    json_append(out, arena && value.kind == Kind::text ? json_value(value.text, *arena) : value);
  }
  return out;
}

// A list of plain texts, sorted, each once. Others are left to the reference, which trims and cuts them.
std::vector<Text> tags_of(const Spec& spec, const Values& values) {
  constexpr size_t most = 50, longest = 200;
  const Value* value = first(values, spec.tags);
  if (!value) return {};
  if (value->kind != Kind::list || value->nest->items.size() > most) throw Unsupported{};
  std::vector<Text> tags;
  const auto is_plain = [](char c) { return c > ' ' && c < '\x7f'; };
  for (const Value& item : value->nest->items) {
    const bool fits = item.kind == Kind::text && !item.text.empty() && item.text.size() <= longest;
    if (!fits || !is_plain(item.text.front()) || !is_plain(item.text.back()) || item.text.find('\0') != Text::npos) throw Unsupported{};
    tags.push_back(item.text);
  }
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  return tags;
}

Text payload(const Source& source, const Values& values, Arena& arena) {
  if (source.key < 0) return source.tree.empty() ? Text{} : arena.keep(rendered(source.tree, values));
  const Value& value = values[size_t(source.key)];
  if (value.kind == Kind::none) return {};
  if (value.kind == Kind::text) return value.text;
  std::string out;
  json_append(out, value);
  return arena.keep(std::move(out));
}

std::string json_of(const Value& value) {
  if (value.nest->items.empty()) return {};
  std::string out;
  json_append(out, value);
  return out;
}

// A mapping, also one written as JSON.
std::string mapping(const Value& value, Arena& arena) {
  if (value.kind == Kind::map) return json_of(value);
  if (value.kind != Kind::text) throw Unsupported{};
  return json_of(json_object(value.text, arena));
}

std::optional<int64_t> later(uint64_t start_ns, const Value* value, double scale) {
  if (!value) return std::nullopt;
  if (value->kind == Kind::text) throw Unsupported{};
  if (value->kind != Kind::integer && value->kind != Kind::real) return std::nullopt;
  const double after = value->kind == Kind::real ? value->real : double(value->integer);
  if (!(after >= 0 && after < kMaxSeconds)) return std::nullopt;
  const uint64_t at = start_ns + uint64_t(after * scale);
  if (at > uint64_t(INT64_MAX)) throw Unsupported{};
  return int64_t(at);
}

Text type_of(const Spec& spec, const Values& values) {
  for (const auto& [index, words] : spec.types) {
    const Value& value = values[size_t(index)];
    if (value.kind != Kind::text) continue;
    const auto found = words.find(value.text);
    if (found == words.end()) throw Unsupported{};
    return found->second == "span" && spec.is_disguised ? Text("generation") : Text(found->second);
  }
  return spec.guess;
}

bool repeats(const Kept& kept, const Values& values) {
  const Value& value = values[size_t(kept.index)];
  return value.kind == Kind::text && std::any_of(kept.repeats.begin(), kept.repeats.end(), [&](int i) {
    const Value& other = values[size_t(i)];
    return other.kind == Kind::text && other.text == value.text;
  });
}

void append_links(std::string& out, const std::vector<Link>& links) {
  out += "\"otel.links\":[";
  for (size_t i = 0; i < links.size(); i++) {
    if (i) out += ',';
    out += "{\"trace_id\":";
    json_append(out, links[i].trace_id);
    out += ",\"span_id\":";
    json_append(out, links[i].span_id);
    out += ",\"attributes\":";
    Value value;
    value.kind = Kind::map;
    value.nest = std::make_shared<Nest>(Nest{links[i].attributes.keys, links[i].attributes.values});
    json_append(out, value);
    out += '}';
  }
  out += ']';
}

std::string kept_of(const Span& span, const Spec& spec, const Context& context) {
  constexpr Text kinds[] = {"server", "client", "producer", "consumer"};
  std::string out;
  const auto separate = [&] {
    if (!out.empty()) out += ',';
  };
  for (const Kept& kept : spec.kept) {
    if (!kept.repeats.empty() && repeats(kept, span.attributes.values)) continue;
    separate();
    out += kept.key;
    json_append(out, span.attributes.values[size_t(kept.index)]);
  }
  if (!context.kept.empty()) separate(), out += context.kept;
  if (const auto kind = int32_t(span.kind); kind >= 2 && kind <= 5) {
    separate();
    out += "\"otel.kind\":";
    json_append(out, kinds[kind - 2]);
  }
  if (!span.links.empty()) separate(), append_links(out, span.links);
  return out.empty() ? out : '{' + out + '}';
}

std::string events_of(const std::vector<Event>& events) {
  std::string out;
  for (const Event& event : events) {
    out += out.empty() ? "[{\"name\":" : ",{\"name\":";
    json_append(out, event.name);
    out += ",\"time_ns\":";
    json_append(out, int64_t(std::min(event.time_ns, uint64_t(INT64_MAX))));
    out += ",\"attributes\":";
    Value value;
    value.kind = Kind::map;
    value.nest = std::make_shared<Nest>(Nest{event.attributes.keys, event.attributes.values});
    json_append(out, value);
    out += '}';
  }
  return out.empty() ? out : out + ']';
}

Text exception_message(const Event& event, const Rules& rules) {
  for (const std::string& key : rules.exception_message)
    for (size_t i = 0; i < event.attributes.keys.size(); i++) {
      const Value& value = event.attributes.values[i];
      if (event.attributes.keys[i] != key || value.says_nothing()) continue;
      if (value.kind != Kind::text) throw Unsupported{};
      return value.text;
    }
  return {};
}

Text status_message(const Span& span, const Spec& spec, const Rules& rules, Arena& arena) {
  const Text given = first_text(span.attributes.values, spec.status_message, arena);
  if (!given.empty()) return given;
  if (!span.status_message.empty()) return span.status_message;
  for (const Event& event : span.events)
    if (event.name == "exception") return exception_message(event, rules);
  return int32_t(span.status) == 2 ? first_text(span.attributes.values, spec.error_type, arena) : Text{};
}

Text prompt_version(const Spec& spec, const Values& values, Arena& arena) {
  const Value* value = first(values, spec.prompt_version);
  if (!value) return {};
  if (value->kind == Kind::integer && value->integer >= 0 && value->integer < kMaxCount) return arena.keep(std::to_string(value->integer));
  if (value->kind != Kind::text) throw Unsupported{};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (!is_letter(value->text[0])) throw Unsupported{};  // it may be a number in some writing
  return value->text;
}

}  // namespace

void RowMaker::fill(Fields& f, const Span& span, const Spec& spec, const Context& context, Arena& arena) {
  const Values& values = span.attributes.values;
  for (const Event& event : span.events)
    if (rules_.special_events.contains(event.name)) throw Unsupported{};
  const auto or_else = [](Text one, Text other) { return one.empty() ? other : one; };

  const auto code = int32_t(span.status);
  f.status = code == 1 ? "ok" : code == 2 ? "error" : "unset";
  const Text level = word(values, spec.level);
  std::string upper(level);
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = char(c - 32);
  const auto known = upper.empty() ? rules_.levels.end() : rules_.levels.find(upper);
  f.level = known != rules_.levels.end() ? Text(known->second) : code == 2 ? Text("ERROR") : Text("DEFAULT");
  f.type = type_of(spec, values);
  f.status_message = status_message(span, spec, rules_, arena);
  f.name = or_else(first_text(values, spec.name, arena), span.name);
  f.trace_name = first_text(values, spec.trace_name, arena);
  f.input = payload(spec.input, values, arena);
  f.output = payload(spec.output, values, arena);

  const Value* parameters = first(values, spec.parameters);
  f.parameters = parameters ? mapping(*parameters, arena) : rendered(spec.parameter_pairs, values);
  f.metadata = spec.metadata >= 0 ? mapping(values[size_t(spec.metadata)], arena) : rendered(spec.metadata_pairs, values, context.encodes_metadata ? &arena : nullptr);
  f.attributes = kept_of(span, spec, context);
  f.events = events_of(span.events);

  f.prompt_name = first_text(values, spec.prompt_name, arena);
  f.prompt_version = prompt_version(spec, values, arena);
  f.session = first_text(values, spec.session, arena);
  f.user = first_text(values, spec.user, arena);
  f.environment = or_else(plain_environment(first_text(values, spec.environment, arena)), context.environment);
  f.release = or_else(first_text(values, spec.release, arena), context.release);
  f.version = or_else(first_text(values, spec.version, arena), context.version);
  f.scope = context.scope;
  f.tags = tags_of(spec, values);

  f.first_token_ns = later(span.start_ns, first(values, spec.first_token_seconds), 1e9);
  if (!f.first_token_ns) f.first_token_ns = later(span.start_ns, first(values, spec.first_token_ms), 1e6);

  if (rules_.aggregates.contains(word(values, spec.operation))) return;
  f.model = first_text(values, spec.model, arena);
  count(f, spec, values, arena);
  price(f, span.start_ns);
}

void RowMaker::count(Fields& f, const Spec& spec, const Values& values, Arena& arena) {
  const Value* details = spec.usage_details < 0 ? nullptr : &values[size_t(spec.usage_details)];
  if (!details || details->kind == Kind::none) {
    f.usage = usage_of_attributes(spec, values);
  } else if (details->kind == Kind::text) {
    f.usage = usage_of_mapping(json_object(details->text, arena), rules_);
  } else {
    throw Unsupported{};
  }
  for (const auto& [part, number] : f.usage) {
    if (part.starts_with("input")) f.input_tokens += number;
    if (part.starts_with("output")) f.output_tokens += number;
    if (part == "total") f.total_tokens = number;
  }
}

void RowMaker::price(Fields& f, uint64_t start_ns) {
  if (f.usage.empty() || f.model.empty()) return;
  const auto found = rates_.find(f.model);
  if (found == rates_.end()) {
    if (unknown_models_.size() < kMaxModels && f.model.size() <= rules_.limits[size_t(Column::model)]) unknown_models_.emplace(f.model);
    throw Unsupported{};
  }
  if (start_ns < found->second.since_ns || !is_flat(found->second, f.usage)) throw Unsupported{};
  f.cost = cost_of(found->second, f.usage);
}

}  // namespace hone::wire
