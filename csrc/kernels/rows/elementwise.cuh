// Gates, sums and picked rows: a thread makes eight columns of one row.
#pragma once
#include "kernels/rows/eight.cuh"
#include "kernels/rows/rows.hpp"

namespace hone::cuda {

constexpr int kColumnThreads = 256;

__device__ __forceinline__ int first_column() { return int(blockIdx.x * kColumnThreads + threadIdx.x) * 8; }

template <class T>
__device__ __forceinline__ void read_in_order(const T* row, const int32_t* order, int c, float (&v)[8]) {
  if (!order) return read_eight(row + c, v);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = as_float(row[order[c + i]]);
}

template <class T>
__global__ void __launch_bounds__(kColumnThreads) gate_rows(const __grid_constant__ Gated p) {
  launch_dependents();
  wait_for_dependencies();
  const int c = first_column();
  if (c >= p.cols) return;
  for (int row = blockIdx.y; row < p.rows; row += gridDim.y) {
    const T* from = static_cast<const T*>(p.gate_up) + int64_t(row) * 2 * p.cols;
    float g[8], u[8];
    read_in_order(from, p.order, c, g);
    read_in_order(from + p.cols, p.order, c, u);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const float x = g[i];
      const float gate = p.gate == Gate::silu ? x / (1.f + expf(-x)) : 0.5f * x * (1.f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
      u[i] *= gate;
    }
    write_eight(static_cast<T*>(p.out) + int64_t(row) * p.cols + c, u);
  }
}

template <class T, class X, class Y>
__global__ void __launch_bounds__(kColumnThreads) sum_of_rows(const __grid_constant__ Sum p) {
  launch_dependents();
  wait_for_dependencies();
  const int c = first_column();
  if (c >= p.cols) return;
  for (int row = blockIdx.y; row < p.rows; row += gridDim.y) {
    const int64_t from = int64_t(p.picks ? p.picks[row] : row) * p.cols;
    float v[8], more[8];
    read_in_order(static_cast<const X*>(p.x) + from, p.order, c, v);
    if (p.y) {
      read_in_order(static_cast<const T*>(p.y) + from, p.order, c, more);
#pragma unroll
      for (int i = 0; i < 8; i++) v[i] += more[i];
    }
    if (p.bias) {
      read_in_order(p.bias, p.order, c, more);
#pragma unroll
      for (int i = 0; i < 8; i++) v[i] += more[i];
    }
    write_eight(static_cast<Y*>(p.out) + int64_t(row) * p.cols + c, v);
  }
}

}  // namespace hone::cuda
