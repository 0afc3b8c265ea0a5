#include "wire/span.hpp"

namespace hone::wire {

namespace {

constexpr int kMaxDepth = 32;

Value read_value(Text bytes, Arena& arena, int depth);

void read_pair(Text bytes, Arena& arena, int depth, Text& key, Value& value) {
  Reader in(bytes);
  bool has_value = false;
  while (in.next()) {
    switch (in.field()) {
      case 1: key = in.text(); break;
      case 2:
        if (has_value) throw Unsupported{};
        has_value = true;
        value = read_value(in.bytes(), arena, depth);
        break;
      default: throw Unsupported{};
    }
  }
}

Value read_list(Text bytes, Arena& arena, int depth, bool is_map) {
  Value value;
  value.kind = is_map ? Kind::map : Kind::list;
  value.nest = std::make_shared<Nest>();
  Reader in(bytes);
  while (in.next()) {
    if (in.field() != 1) throw Unsupported{};
    Value& item = value.nest->items.emplace_back();
    if (is_map) {
      read_pair(in.bytes(), arena, depth + 1, value.nest->keys.emplace_back(), item);
    } else {
      item = read_value(in.bytes(), arena, depth + 1);
    }
  }
  check_distinct(value.nest->keys);
  return value;
}

Text hex(Text bytes, Arena& arena) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[c & 15];
  }
  return arena.keep(std::move(out));
}

Value read_value(Text bytes, Arena& arena, int depth) {
  if (depth > kMaxDepth) throw Unsupported{};
  Value value;
  Reader in(bytes);
  if (!in.next()) return value;
  switch (in.field()) {
    case 1: value.kind = Kind::text, value.text = in.text(); break;
    case 2: value.kind = Kind::boolean, value.truth = in.number() != 0; break;
    case 3: value.kind = Kind::integer, value.integer = int64_t(in.number()); break;
    case 4: {
      const uint64_t bits = in.fixed64();
      double number;
      std::memcpy(&number, &bits, sizeof number);
      value = real_value(number);
      break;
    }
    case 5: value = read_list(in.bytes(), arena, depth, false); break;
    case 6: value = read_list(in.bytes(), arena, depth, true); break;
    case 7: value.kind = Kind::text, value.text = hex(in.bytes(), arena); break;
    default: throw Unsupported{};
  }
  if (in.next()) throw Unsupported{};
  return value;
}

Event read_event(Text bytes, Arena& arena) {
  Event event;
  Reader in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case 1: event.time_ns = in.fixed64(); break;
      case 2: event.name = in.text(); break;
      case 3: event.attributes.add(in.bytes(), arena); break;
      default: in.skip();
    }
  }
  check_distinct(event.attributes.keys);
  return event;
}

Link read_link(Text bytes, Arena& arena) {
  Link link;
  Reader in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case 1: link.trace_id = hex(in.bytes(), arena); break;
      case 2: link.span_id = hex(in.bytes(), arena); break;
      case 3: in.text(); break;
      case 4: link.attributes.add(in.bytes(), arena); break;
      default: in.skip();
    }
  }
  check_distinct(link.attributes.keys);
  return link;
}

void read_status(Text bytes, Span& span) {
  Reader in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case 2: span.status_message = in.text(); break;
      case 3: span.status = in.number(); break;
      default: in.skip();
    }
  }
}

Scope read_scope(Text bytes, Arena& arena) {
  Scope scope;
  Reader in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case 1: scope.name = in.text(); break;
      case 2: scope.version = in.text(); break;
      case 3: scope.attributes.add(in.bytes(), arena); break;
      default: in.skip();
    }
  }
  check_distinct(scope.attributes.keys);
  return scope;
}

ScopeSpans read_scope_spans(Text bytes, Arena& arena) {
  ScopeSpans found;
  Reader in(bytes);
  bool has_scope = false;
  while (in.next()) {
    switch (in.field()) {
      case 1:
        if (has_scope) throw Unsupported{};
        has_scope = true;
        found.scope = read_scope(in.bytes(), arena);
        found.rest += in.whole();
        break;
      case 2: found.spans.push_back(in.bytes()); break;
      case 3: in.text(); break;
      default: in.skip();
    }
  }
  return found;
}

void read_resource(Text bytes, Attributes& resource, Arena& arena) {
  Reader in(bytes);
  while (in.next()) {
    switch (in.field()) {
      case 1: resource.add(in.bytes(), arena); break;
      case 2: in.skip(); break;
      default: throw Unsupported{};
    }
  }
  check_distinct(resource.keys);
}

ResourceSpans read_resource_spans(Text bytes, Arena& arena) {
  ResourceSpans found;
  Reader in(bytes);
  bool has_resource = false;
  while (in.next()) {
    switch (in.field()) {
      case 1:
        if (has_resource) throw Unsupported{};
        has_resource = true;
        read_resource(in.bytes(), found.resource, arena);
        found.rest += in.whole();
        break;
      case 2: found.scopes.push_back(read_scope_spans(in.bytes(), arena)); break;
      case 3: in.text(); break;
      default: throw Unsupported{};
    }
  }
  return found;
}

}  // namespace

void Attributes::add(Text pair, Arena& arena) { read_pair(pair, arena, 0, keys.emplace_back(), values.emplace_back()); }

void append_field(std::string& out, unsigned field, Text bytes) {
  const auto varint = [&](uint64_t number) {
    for (; number > 0x7F; number >>= 7) out += char(number | 0x80);
    out += char(number);
  };
  varint(field << 3 | 2);
  varint(bytes.size());
  out += bytes;
}

std::vector<ResourceSpans> read_export(Text body, Arena& arena) {
  std::vector<ResourceSpans> found;
  Reader in(body);
  while (in.next()) {
    if (in.field() == 1) found.push_back(read_resource_spans(in.bytes(), arena));
    else in.skip();
  }
  return found;
}

void read_span(Text bytes, Span& span, Arena& arena) {
  Reader in(bytes);
  bool has_status = false;
  while (in.next()) {
    switch (in.field()) {
      case 1: span.trace_id = in.bytes(); break;
      case 2: span.span_id = in.bytes(); break;
      case 3: in.text(); break;
      case 4: span.parent = in.bytes(); break;
      case 5: span.name = in.text(); break;
      case 6: span.kind = in.number(); break;
      case 7: span.start_ns = in.fixed64(); break;
      case 8: span.end_ns = in.fixed64(); break;
      case 9: span.attributes.add(in.bytes(), arena); break;
      case 11: span.events.push_back(read_event(in.bytes(), arena)); break;
      case 13: span.links.push_back(read_link(in.bytes(), arena)); break;
      case 15:
        if (has_status) throw Unsupported{};
        has_status = true;
        read_status(in.bytes(), span);
        break;
      default: in.skip();
    }
  }
}

}  // namespace hone::wire
