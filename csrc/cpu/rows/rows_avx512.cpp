// See rows_impl.hpp.
#include "hone/vec_avx512.hpp"

#include "rows_impl.hpp"
