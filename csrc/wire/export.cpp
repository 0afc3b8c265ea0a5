#include "wire/export.hpp"

namespace hone::wire {

namespace {

class Walk {
 public:
  explicit Walk(const Setting& s) : setting_(s), maker_(s.rules, s.rates, s.project_id, s.now_ns, s.window_us) {}

  void resource(const ResourceSpans& resource) {
    std::string rest;
    for (const ScopeSpans& scope : resource.scopes) {
      const Context context = context_of(resource.resource, scope.scope, setting_.rules);
      std::string left;
      for (const Text bytes : scope.spans)
        if (!take(bytes, context)) append_field(left, 2, bytes);
      if (!left.empty()) append_field(rest, 2, scope.rest + left);
    }
    if (!rest.empty()) append_field(decoded_.rest, 1, resource.rest + rest);
  }

  Decoded finish() {
    std::erase_if(decoded_.parts, [](const Part& part) { return !part.rows->size(); });
    if (setting_.asks) decoded_.unknown_models = maker_.unknown_models();
    for (auto& [key, names] : unknown_) decoded_.unknown_names.push_back(names);
    return std::move(decoded_);
  }

  Arena& arena() { return arena_; }

 private:
  // Whether the span is in a part now; else it is left to the reference.
  bool take(Text bytes, const Context& context) {
    span_.clear();
    try {
      read_span(bytes, span_, arena_);
      maker_.settle(span_);
      const Spec* spec = known();
      if (!spec) return false;
      maker_.add(span_, *spec, context, part(), arena_);
    } catch (const Unsupported&) {
      return false;
    }
    return true;
  }

  const Spec* known() {
    if (span_.attributes.keys.size() > kMaxKeys) return nullptr;
    const std::string key = signature(span_.attributes.keys);
    if (key.size() > kMaxSignature) return nullptr;
    const auto found = setting_.specs.find(key);
    if (found != setting_.specs.end()) return found->second.get();
    if (setting_.asks && unknown_.size() < kMaxAsked) unknown_.try_emplace(key, Names(span_.attributes.keys.begin(), span_.attributes.keys.end()));
    return nullptr;
  }

  Part& part() {
    const auto [at, is_new] = places_.try_emplace(span_.trace_id, decoded_.parts.size());
    if (is_new) decoded_.parts.emplace_back().trace_id = span_.trace_id;
    Part& part = decoded_.parts[at->second];
    uint64_t id;
    std::memcpy(&id, span_.span_id.data(), sizeof id);
    if (!part.span_ids.insert(id).second) throw Unsupported{};  // which one stands, the reference decides
    return part;
  }

  const Setting& setting_;
  RowMaker maker_;
  Arena arena_;
  Span span_;
  Decoded decoded_;
  std::unordered_map<Text, size_t> places_;
  std::map<std::string, Names> unknown_;
};

}  // namespace

std::string signature(const std::vector<Text>& keys) {
  std::string out;
  for (const Text key : keys) {
    const auto length = uint32_t(key.size());
    out.append(reinterpret_cast<const char*>(&length), sizeof length).append(key);
  }
  return out;
}

Decoded decode(Text body, const Setting& setting) {
  Walk walk(setting);
  for (const ResourceSpans& resource : read_export(body, walk.arena())) walk.resource(resource);
  return walk.finish();
}

}  // namespace hone::wire
