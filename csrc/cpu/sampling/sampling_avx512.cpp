// See sampling_impl.hpp.
#include "hone/vec_avx512.hpp"

#include "sampling_impl.hpp"
