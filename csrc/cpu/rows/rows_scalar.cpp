// See rows_impl.hpp.
#include "hone/vec_scalar.hpp"

#include "rows_impl.hpp"
