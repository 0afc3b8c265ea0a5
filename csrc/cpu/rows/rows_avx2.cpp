// See rows_impl.hpp.
#include "hone/vec_avx2.hpp"

#include "rows_impl.hpp"
