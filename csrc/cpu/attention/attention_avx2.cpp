// See attention_impl.hpp.
#include "hone/vec_avx2.hpp"

#include "attention_impl.hpp"
