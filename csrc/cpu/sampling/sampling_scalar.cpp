// See sampling_impl.hpp.
#include "hone/vec_scalar.hpp"

#include "sampling_impl.hpp"
