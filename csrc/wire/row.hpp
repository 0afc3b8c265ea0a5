// One span as the values of its row, in the order of core/row.COLUMNS, and into its trace's part.
#pragma once
#include "wire/part.hpp"
#include "wire/span.hpp"
#include "wire/spec.hpp"

namespace hone::wire {

// What the spans of one resource and scope have in common.
struct Context {
  Text environment, release, version;
  std::string scope;
  std::string kept;  // members of the JSON of attributes
  bool encodes_metadata = false;  // every value of it is JSON
};

// `name` where it needs no rewriting; throws Unsupported otherwise.
Text plain_environment(Text name);

Context context_of(const Attributes& resource, const Scope& scope, const Rules& rules);

class RowMaker {
 public:
  RowMaker(const Rules& rules, const Rates& rates, int64_t project_id, uint64_t now_ns, std::pair<int64_t, int64_t> window_us)
      : rules_(rules), rates_(rates), project_id_(project_id), now_ns_(now_ns), window_us_(window_us) {}

  // Refuses with Unsupported, leaving nothing behind, what has no valid id or time.
  void settle(Span& span) const;
  void add(const Span& span, const Spec& spec, const Context& context, Part& part, Arena& arena);

  const std::set<std::string>& unknown_models() const { return unknown_models_; }

 private:
  struct Fields;
  void fill(Fields& f, const Span& span, const Spec& spec, const Context& context, Arena& arena);
  void count(Fields& f, const Spec& spec, const std::vector<Value>& values, Arena& arena);
  void price(Fields& f, uint64_t start_ns);
  void write(const Fields& f, const Span& span, Rows& rows) const;
  void sum_up(const Fields& f, const Span& span, Part& part) const;

  const Rules& rules_;
  const Rates& rates_;
  int64_t project_id_;
  uint64_t now_ns_;
  std::pair<int64_t, int64_t> window_us_;
  std::set<std::string> unknown_models_;
};

}  // namespace hone::wire
