// Eight neighboring numbers of a row, as fp32 in registers and as fp32, fp16 or bf16 in memory.
#pragma once
#include "hone/device.cuh"

namespace hone::cuda {

using namespace hone::device;

__device__ __forceinline__ float as_float(float v) { return v; }
__device__ __forceinline__ float as_float(__half v) { return __half2float(v); }
__device__ __forceinline__ float as_float(__nv_bfloat16 v) { return __bfloat162float(v); }

template <class T>
__device__ __forceinline__ T narrow_to(float v) {
  if constexpr (sizeof(T) == 4)
    return v;
  else
    return round_to<T>(v);
}

template <class T>
__device__ __forceinline__ void read_eight(const T* from, float (&v)[8]) {
  alignas(16) T raw[8];
#pragma unroll
  for (int i = 0; i < int(sizeof(raw) / 16); i++) reinterpret_cast<uint4*>(raw)[i] = reinterpret_cast<const uint4*>(from)[i];
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = as_float(raw[i]);
}

template <class T>
__device__ __forceinline__ void write_eight(T* to, const float (&v)[8]) {
  alignas(16) T raw[8];
#pragma unroll
  for (int i = 0; i < 8; i++) raw[i] = narrow_to<T>(v[i]);
#pragma unroll
  for (int i = 0; i < int(sizeof(raw) / 16); i++) reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(raw)[i];
}

}  // namespace hone::cuda
