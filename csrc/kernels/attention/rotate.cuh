// The rotation of quantized caches: the Hadamard matrix of 32 (Sylvester's order, rows of length 1), which is its own inverse.
// 32 numbers lie one a lane, four a lane of 8, or as products of mma.m16n8k16 leave them.
#pragma once
#include "kernels/attention/warp.cuh"

namespace hone::cuda {

constexpr float kRotatedLength = 0.17677669529663687f;  // 1 / sqrt(32), in which steps leave numbers too long

// One step of the transform between lanes whose numbers differ in `bit`.
__device__ __forceinline__ float add_or_subtract(float v, int bit, int lane, uint32_t lanes) {
  const float other = __shfl_xor_sync(lanes, v, bit);
  return lane & bit ? other - v : v + other;
}

__device__ __forceinline__ void add_and_subtract(float& a, float& b) {
  const float sum = a + b, difference = a - b;
  a = sum, b = difference;
}

// Number `lane` of 32.
__device__ __forceinline__ float rotate_one(float v, int lane) {
#pragma unroll
  for (int bit = 1; bit < 32; bit *= 2) v = add_or_subtract(v, bit, lane, 0xffffffffu);
  return v * kRotatedLength;
}

// Numbers 4 (lane % 8) to 4 (lane % 8) + 3 of 32; all of the lane's 8 call it.
__device__ __forceinline__ float4 rotate_four(float4 v, int lane) {
  add_and_subtract(v.x, v.y), add_and_subtract(v.z, v.w), add_and_subtract(v.x, v.z), add_and_subtract(v.y, v.w);
  const uint32_t lanes = 0xffu << (lane & 24);
#pragma unroll
  for (int bit = 1; bit < 8; bit *= 2) {
    v.x = add_or_subtract(v.x, bit, lane, lanes), v.y = add_or_subtract(v.y, bit, lane, lanes);
    v.z = add_or_subtract(v.z, bit, lane, lanes), v.w = add_or_subtract(v.w, bit, lane, lanes);
  }
  return {v.x * kRotatedLength, v.y * kRotatedLength, v.z * kRotatedLength, v.w * kRotatedLength};
}

// A row of TILES tiles of 8 columns: numbers first and first + 1 of a tile are columns 2 (lane % 4) and the next. A multiple of 4 tiles.
template <int TILES>
__device__ __forceinline__ void rotate_row(float (&tiles)[TILES][4], int first, int lane) {
#pragma unroll
  for (int d = 0; d < TILES; d++) {
    add_and_subtract(tiles[d][first], tiles[d][first + 1]);
#pragma unroll
    for (int i = first; i < first + 2; i++)
#pragma unroll
      for (int bit = 1; bit < 4; bit *= 2) tiles[d][i] = add_or_subtract(tiles[d][i], bit, lane, 0xffffffffu);
  }
#pragma unroll
  for (int d = 0; d < TILES; d += 4)
#pragma unroll
    for (int i = first; i < first + 2; i++) {
      add_and_subtract(tiles[d][i], tiles[d + 1][i]), add_and_subtract(tiles[d + 2][i], tiles[d + 3][i]);
      add_and_subtract(tiles[d][i], tiles[d + 2][i]), add_and_subtract(tiles[d + 1][i], tiles[d + 3][i]);
#pragma unroll
      for (int k = d; k < d + 4; k++) tiles[k][i] *= kRotatedLength;
    }
}

}  // namespace hone::cuda
