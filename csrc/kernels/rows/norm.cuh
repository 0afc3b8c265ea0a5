// RMSNorm of a row by one block, with what was left to add to the residual stream before it, and columns in another order after.
#pragma once
#include "hone/team.cuh"
#include "kernels/rows/eight.cuh"
#include "kernels/rows/rows.hpp"

namespace hone::cuda {

template <class T, class X>
__global__ void __launch_bounds__(1024) norm_rows(const __grid_constant__ Norm p) {
  extern __shared__ __align__(16) float values[];
  __shared__ Meeting meeting;
  const BlockTeam team(meeting);
  launch_dependents();
  wait_for_dependencies();
  const int64_t to = int64_t(blockIdx.x) * p.cols, from = p.picks ? int64_t(p.picks[blockIdx.x]) * p.cols : to;
  const X* x = static_cast<const X*>(p.x) + from;
  const T* delta = p.delta ? static_cast<const T*>(p.delta) + from : nullptr;
  float squares = 0.f;
  for (int c = team.rank() * 8; c < p.cols; c += team.size() * 8) {
    float v[8];
    read_eight(x + c, v);
    if (delta) {
      float more[8];
      read_eight(delta + c, more);
#pragma unroll
      for (int i = 0; i < 8; i++) v[i] += more[i];
    }
    if (p.kept) write_eight(p.kept + to + c, v);
    write_eight(values + c, v);
#pragma unroll
    for (int i = 0; i < 8; i++) squares = fmaf(v[i], v[i], squares);
  }
  const float factor = rsqrtf(team.sum(squares) / float(p.cols) + p.eps);
  T* out = static_cast<T*>(p.out) + to;
  for (int c = team.rank() * 8; c < p.cols; c += team.size() * 8) {
    float v[8], w[8];
    if (p.order) {
#pragma unroll
      for (int i = 0; i < 8; i++) {
        const int at = p.order[c + i];
        v[i] = values[at], w[i] = p.weight[at];
      }
    } else {
      read_eight(values + c, v);
      read_eight(p.weight + c, w);
    }
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] *= factor * w[i];
    write_eight(out + c, v);
  }
}

}  // namespace hone::cuda
