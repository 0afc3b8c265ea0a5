// See attention_impl.hpp.
#include "hone/vec_scalar.hpp"

#include "attention_impl.hpp"
