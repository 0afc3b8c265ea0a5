// What a warp does together in attention: pairs of 16-bit numbers, maxima and sums, the score of a product.
#pragma once
#include "kernels/attention/primitives.cuh"

namespace hone::cuda {

template <class T>
__device__ __forceinline__ uint32_t pack_two(float low, float high) {
  uint32_t r;
  if constexpr (__is_same(T, __half))
    reinterpret_cast<__half2&>(r) = __floats2half2_rn(low, high);
  else
    reinterpret_cast<__nv_bfloat162&>(r) = __floats2bfloat162_rn(low, high);
  return r;
}

template <class T>
__device__ __forceinline__ float2 unpack_two(uint32_t v) {
  if constexpr (__is_same(T, __half))
    return __half22float2(reinterpret_cast<__half2&>(v));
  else
    return __bfloat1622float2(reinterpret_cast<__nv_bfloat162&>(v));
}

// Over the lanes whose numbers differ in the bits of FIRST to LAST (powers of two).
template <int FIRST, int LAST>
__device__ __forceinline__ float max_over(float v) {
#pragma unroll
  for (int bit = FIRST; bit <= LAST; bit *= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, bit));
  return v;
}

template <int FIRST, int LAST>
__device__ __forceinline__ float sum_over(float v) {
#pragma unroll
  for (int bit = FIRST; bit <= LAST; bit *= 2) v += __shfl_xor_sync(0xffffffffu, v, bit);
  return v;
}

// Bytes of a token's numbers in shared memory: an odd multiple of 16, so that 8 tokens lie on different banks.
template <int DIM>
constexpr int kTokenBytes = DIM * 2 + 16;

// The score of a product q k before exponentiation: scale and softcap, such that its weight is 2^(score * factor).
struct Score {
  float scale, softcap, factor;
  static constexpr float log2_e = 1.4426950408889634f;

  __device__ Score(float scale_, float softcap_) : scale(scale_), softcap(softcap_), factor(softcap_ > 0.f ? log2_e : scale_ * log2_e) {}

  __device__ __forceinline__ float operator()(float product) const {
    if (softcap <= 0.f) return product;
    // tanh(x) = 1 - 2 / (1 + e^2x)
    return softcap * (1.f - 2.f / (1.f + power_of_two(product * (2.f * log2_e * scale / softcap))));
  }
};

}  // namespace hone::cuda
