// The products that Hopper's warpgroups compute: 4-bit weights by 9 to 64 activation rows, also beside 8-bit ones in groups of 128 and
// without minimums; symmetric ones of other widths by 33 to 64.
#pragma once
#include "kernels/linear/linear.hpp"

namespace hone::cuda {

constexpr int kLeastWgmmaRows = 9, kLeastMixedRows = 33;

inline bool serves_wgmma(const Linear& c, const Device& device) {
  if (device.capability != 90 || c.rows > kMaxRows) return false;
  if (c.bits == 0) return !c.has_min && !c.invariant && c.rows >= (is_pair(c.runs) ? kLeastWgmmaRows : kLeastMixedRows);
  return c.bits == 4 && c.rows >= (c.invariant ? 1 : kLeastWgmmaRows);
}

// As linear(), from `wgmma_rows` rows on by warpgroups where they serve; 0: never. Invariant ones go there whatever their number.
void linear(const Linear& call, const Device& device, cudaStream_t stream, int wgmma_rows);

template <Type TYPE>
void launch_wgmma(const Linear& call, const Device& device, cudaStream_t stream);

}  // namespace hone::cuda
