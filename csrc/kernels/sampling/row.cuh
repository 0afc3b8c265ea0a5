// The logits of one row as a team reads them: in vectors, with penalties applied on the way.
#pragma once
#include "hone/team.cuh"
#include "kernels/sampling/sampling.hpp"

namespace hone::cuda {

using namespace hone::device;

// Order as numbers: a < b as floats means order(a) < order(b). -0 and 0 are one.
__device__ __forceinline__ uint32_t bits_of(float v) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(v);
#else
  return __builtin_bit_cast(uint32_t, v);
#endif
}
__device__ __forceinline__ float float_of(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  return __builtin_bit_cast(float, bits);
#endif
}
__device__ __forceinline__ uint32_t order_of(float v) {
  const uint32_t bits = bits_of(v + 0.f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float from_order(uint32_t order) { return float_of(order & 0x80000000u ? order & 0x7fffffffu : ~order); }

__device__ __forceinline__ float number(float v) { return v; }
__device__ __forceinline__ float number(__half v) { return __half2float(v); }
__device__ __forceinline__ float number(__nv_bfloat16 v) { return __bfloat162float(v); }

constexpr int kVector = 8;             // logits that a thread reads at once
constexpr int kPiece = 32 * kVector;  // those of a warp

// A block's part of a row, begin to end (a multiple of kPiece); with `cache`, each thread keeps what it has read once.
template <class T>
struct Logits {
  const T* x;
  const int32_t* counts;  // null: no penalties
  const float* bias;      // null: none
  float repetition, presence, frequency;
  int vocab;
  int begin, end;
  float* cache;  // (end - begin) in shared memory, or null

  __device__ __forceinline__ float penalized(float v, int32_t count) const {
    if (!count) return v;
    v = v > 0.f ? v / repetition : v * repetition;
    const int32_t made = count & (kPromptToken - 1);
    return made ? v - (presence + frequency * float(made)) : v;
  }

  // A logit after penalties and bias.
  __device__ __forceinline__ float changed(float v, int id) const {
    if (counts) v = penalized(v, counts[id]);
    return bias ? v + bias[id] : v;
  }

  __device__ __forceinline__ float at(int id) const {
    return changed(number(x[id]), id);
  }

  __device__ __forceinline__ void read(int first, float (&v)[kVector]) const {
    alignas(16) T raw[kVector];
    constexpr int pieces = sizeof(raw) / 16;
    if (first + kVector <= vocab && reinterpret_cast<uintptr_t>(x + first) % 16 == 0)
#pragma unroll
      for (int i = 0; i < pieces; i++) reinterpret_cast<uint4*>(raw)[i] = reinterpret_cast<const uint4*>(x + first)[i];
    else
#pragma unroll
      for (int i = 0; i < kVector; i++) raw[i] = x[first + i < vocab ? first + i : vocab - 1];
#pragma unroll
    for (int i = 0; i < kVector; i++) {
      v[i] = number(raw[i]);
      if ((counts || bias) && first + i < vocab) v[i] = changed(v[i], first + i);
    }
  }

  // f(id, logit) of this block's part; a thread is given the same ids every time.
  template <bool FIRST, class F>
  __device__ __forceinline__ void pass(int thread, int threads, F f) const {
    for (int first = begin + thread * kVector; first < end; first += threads * kVector) {
      float v[kVector];
      if (FIRST || !cache) {
        read(first, v);
        if (FIRST && cache)
#pragma unroll
          for (int i = 0; i < kVector; i++) cache[first - begin + i] = v[i];
      } else {
#pragma unroll
        for (int i = 0; i < kVector; i++) v[i] = cache[first - begin + i];
      }
#pragma unroll
      for (int i = 0; i < kVector; i++)
        if (first + i < end) f(first + i, v[i]);
    }
  }

  template <class Team, class F>
  __device__ __forceinline__ void each_first(const Team& team, F f) const {
    const int threads = team.size() / team.blocks();
    pass<true>(team.rank() - team.block() * threads, threads, f);
  }
  template <class Team, class F>
  __device__ __forceinline__ void each(const Team& team, F f) const {
    const int threads = team.size() / team.blocks();
    pass<false>(team.rank() - team.block() * threads, threads, f);
  }
};

}  // namespace hone::cuda
