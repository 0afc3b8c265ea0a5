// Token counts in disjoint parts, as core/dialects/usage counts them.
#pragma once
#include "wire/rates.hpp"
#include "wire/spec.hpp"

namespace hone::wire {

// From attributes that hold one count each.
Usage usage_of_attributes(const Spec& spec, const std::vector<Value>& values);

// From a mapping that the sender made, OpenAI's or any; throws Unsupported for names that mean others.
Usage usage_of_mapping(const Value& mapping, const Rules& rules);

}  // namespace hone::wire
