// The machine's roof: how fast its memory can be read.
#pragma once
#include <cstdint>

namespace hone {

// Bytes a second that `threads` threads together read from `bytes` of memory in huge pages; the best of `repeats`.
double read_bandwidth(int64_t bytes, int threads, int repeats);

}  // namespace hone
