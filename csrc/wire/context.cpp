#include <algorithm>

#include "wire/json.hpp"
#include "wire/row.hpp"

namespace hone::wire {

namespace {

const Value* value_of(const Attributes& attributes, const std::string& key) {
  const auto found = std::find(attributes.keys.begin(), attributes.keys.end(), key);
  return found == attributes.keys.end() ? nullptr : &attributes.values[size_t(found - attributes.keys.begin())];
}

// The first text that says anything.
Text first_text(const Attributes& attributes, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const Value* value = value_of(attributes, key);
    if (!value || value->says_nothing()) continue;
    if (value->kind != Kind::text) throw Unsupported{};
    return value->text;
  }
  return {};
}

void append_member(std::string& out, Text key, const Attributes& attributes) {
  if (!out.empty()) out += ',';
  json_append(out, key);
  out += ":{";
  for (size_t i = 0; i < attributes.keys.size(); i++) {
    if (i) out += ',';
    json_append(out, attributes.keys[i]);
    out += ':';
    json_append(out, attributes.values[i]);
  }
  out += '}';
}

// As payload._encodes_metadata: Langfuse's Python SDK from 5 on.
bool encodes_metadata(const Attributes& resource, const Scope& scope, const Rules& rules) {
  if (scope.name != "langfuse-sdk") return false;
  const Text major = scope.version.substr(0, scope.version.find('.'));
  const bool is_number = !major.empty() && std::all_of(major.begin(), major.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number && !major.empty()) throw Unsupported{};  // digits of other scripts count as digits there
  const bool is_new = is_number && (major.size() > 1 || major[0] >= '5');
  if (major.size() > 1 && major[0] == '0') throw Unsupported{};
  const Value* language = value_of(resource, rules.language);
  return is_new && language && language->kind == Kind::text && language->text == "python";
}

}  // namespace

Text plain_environment(Text name) {
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  if (name.size() > 40 || name.starts_with("langfuse") || !std::all_of(name.begin(), name.end(), is_plain)) throw Unsupported{};
  return name;
}

Context context_of(const Attributes& resource, const Scope& scope, const Rules& rules) {
  Context context;
  context.environment = plain_environment(first_text(resource, rules.environment));
  context.release = first_text(resource, {rules.release});
  context.version = first_text(resource, {rules.version});
  context.scope = scope.name;
  if (!scope.version.empty()) (context.scope += '@') += scope.version;
  if (!resource.keys.empty()) append_member(context.kept, "otel.resource", resource);
  if (!scope.attributes.keys.empty()) append_member(context.kept, "otel.scope", scope.attributes);
  context.encodes_metadata = encodes_metadata(resource, scope, rules);
  return context;
}

}  // namespace hone::wire
