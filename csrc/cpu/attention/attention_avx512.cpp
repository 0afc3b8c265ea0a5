// See attention_impl.hpp.
#include "hone/vec_avx512.hpp"

#include "attention_impl.hpp"
