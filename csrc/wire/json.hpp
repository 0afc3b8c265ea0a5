// JSON exactly as orjson writes it, and JSON read where it is beyond doubt.
#pragma once
#include "wire/value.hpp"

namespace hone::wire {

void json_append(std::string& out, const Value& value);
void json_append(std::string& out, Text text);
void json_append(std::string& out, int64_t number);

// What `text` says. Throws Unsupported where it is no JSON, and where the reference must look closer.
Value json_value(Text text, Arena& arena);

// The object that `text` spells. Throws Unsupported for anything else.
Value json_object(Text text, Arena& arena);

}  // namespace hone::wire
