// The messages of an OTLP trace export as views into the body.
#pragma once
#include <optional>

#include "wire/reader.hpp"

namespace hone::wire {

struct Attributes {
  std::vector<Text> keys;
  std::vector<Value> values;

  void add(Text pair, Arena& arena);  // a KeyValue message
  void clear() { keys.clear(), values.clear(); }
};

struct Event {
  Text name;
  uint64_t time_ns = 0;
  Attributes attributes;
};

struct Link {
  Text trace_id, span_id;
  Attributes attributes;
};

struct Span {
  Text trace_id, span_id, parent, name, status_message;
  uint64_t kind = 0, start_ns = 0, end_ns = 0, status = 0;
  Attributes attributes;
  std::vector<Event> events;
  std::vector<Link> links;

  // Empty again, with the memory it had.
  void clear() {
    trace_id = span_id = parent = name = status_message = {};
    kind = start_ns = end_ns = status = 0;
    attributes.clear(), events.clear(), links.clear();
  }
};

struct Scope {
  Text name, version;
  Attributes attributes;
};

// One ScopeSpans: its parts other than spans word for word, its scope and the spans.
struct ScopeSpans {
  std::string rest;
  Scope scope;
  std::vector<Text> spans;
};

struct ResourceSpans {
  std::string rest;
  Attributes resource;
  std::vector<ScopeSpans> scopes;
};

// Each throws Unsupported where the bytes are not plainly such a message.
std::vector<ResourceSpans> read_export(Text body, Arena& arena);
void read_span(Text bytes, Span& span, Arena& arena);

// Appends `bytes` as a field of a message.
void append_field(std::string& out, unsigned field, Text bytes);

}  // namespace hone::wire
