// See sampling_impl.hpp.
#include "hone/vec_avx2.hpp"

#include "sampling_impl.hpp"
