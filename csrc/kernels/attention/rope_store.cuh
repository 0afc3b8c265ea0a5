// Rotate q in place and k on its way into its page; store k and v. A warp takes a head of a row at a time, two pairs a lane.
// Quantized caches, see chunk.cuh: heads meet in shared memory on the way; q is rotated by the Hadamard matrix too, so that q k stays.
#pragma once
#include "kernels/attention/attention.hpp"
#include "kernels/attention/rotate.cuh"

namespace hone::cuda {

constexpr int kRopeWarps = 8;

// Code of a lane's number v, of 32 that share a scale: 8 bits as is, 4 bits in its place in the word of 8 lanes. Lane 0 stores the scale.
template <int BITS>
__device__ __forceinline__ uint32_t code_of(float v, __half* scale, int lane) {
  constexpr float steps = BITS == 8 ? 127.f : 15.f;
  const __half rounded = __float2half_rn(fminf(max_over<1, 16>(fabsf(v)) / steps, 65504.f));
  if (lane == 0) *scale = rounded;
  const float by = __half2float(rounded), q = by > 0.f ? v / by : 0.f;
  if constexpr (BITS == 8) return uint32_t(fminf(fmaxf(rintf(q) + 128.f, 1.f), 255.f));
  const uint32_t code = uint32_t(fminf(fmaxf(rintf((q + 15.f) * 0.5f), 0.f), 15.f));
  uint32_t word = code << (lane % 8 / 2 * 4 + lane % 2 * 16);
#pragma unroll
  for (int bit = 1; bit < 8; bit *= 2) word |= __shfl_xor_sync(0xffffffffu, word, bit);
  return word;
}

// A head of a quantized cache from shared memory to its place: q where `scales` is null, else a key or a value.
template <class T, int BITS>
__device__ __forceinline__ void store_rotated(const float* numbers, int dims, void* to, __half* scales, int lane) {
  for (int first = 0; first < dims; first += 32) {
    const float v = rotate_one(numbers[first + lane], lane);
    if (scales == nullptr) {
      static_cast<T*>(to)[first + lane] = round_to<T>(v);
      continue;
    }
    const uint32_t code = code_of<BITS>(v, scales + first / 32, lane);
    if constexpr (BITS == 8)
      static_cast<uint8_t*>(to)[first + lane] = uint8_t(code);
    else if (lane % 8 == 0)
      static_cast<uint32_t*>(to)[(first + lane) / 8] = code;
  }
}

template <class T, int BITS>
__global__ void __launch_bounds__(kRopeWarps * 32) rope_store_rows(const __grid_constant__ RopeStore p) {
  const int lane = threadIdx.x % 32, row = blockIdx.x;
  const KVPages& cache = p.cache;
  launch_dependents();
  wait_for_dependencies();
  const int seq = p.seq_of_row[row];
  if (seq < 0) return;
  const int position = p.positions[row], page = cache.table[int64_t(seq) * cache.table_stride + (position >> cache.page_shift)];

  // Lane l rotates dimensions 2u and 2u + 1 with those `half` further on, u = l and l + 32: the angles are the same for all heads.
  float cosine[2][2] = {}, sine[2][2] = {};
#pragma unroll
  for (int i = 0; i < 2; i++)
#pragma unroll
    for (int e = 0; e < 2; e++) {
      const int pair = (lane + 32 * i) * 2 + e;
      if (pair < p.half) {
        sincosf(float(position) * p.inv_freq[pair], &sine[i][e], &cosine[i][e]);
        sine[i][e] *= p.factor, cosine[i][e] *= p.factor;
      }
    }

  __shared__ __align__(16) float all_numbers[BITS == 16 ? 1 : kRopeWarps * kMaxHeadDim];
  [[maybe_unused]] float* numbers = all_numbers + (BITS == 16 ? 0 : threadIdx.x / 32 * kMaxHeadDim);
  const int num_heads = p.heads + 2 * cache.kv_heads, dims = cache.head_dim;
  for (int head = blockIdx.y * kRopeWarps + threadIdx.x / 32; head < num_heads; head += gridDim.y * kRopeWarps) {
    T* from = static_cast<T*>(p.qkv) + int64_t(row) * p.ld + int64_t(head) * dims;
    const bool is_q = head < p.heads, is_v = head >= p.heads + cache.kv_heads;
    const int64_t at = is_q ? 0 : cache.at(page, (head - p.heads) % cache.kv_heads, position);
    uint8_t* to = is_q ? reinterpret_cast<uint8_t*>(from) : static_cast<uint8_t*>(is_v ? cache.values : cache.keys) + at * BITS / 8;
    const uint32_t* in = reinterpret_cast<const uint32_t*>(from);
    const auto put = [&](int word, float low, float high) {
      if constexpr (BITS == 16)
        reinterpret_cast<uint32_t*>(to)[word] = pack_two<T>(low, high);
      else
        *reinterpret_cast<float2*>(numbers + 2 * word) = {low, high};
    };
    const int half = is_v ? 0 : p.half / 2;  // in words of two dimensions from here on
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int u = lane + 32 * i;
      if (u < half) {
        const float2 x = unpack_two<T>(in[u]), y = unpack_two<T>(in[half + u]);
        put(u, x.x * cosine[i][0] - y.x * sine[i][0], x.y * cosine[i][1] - y.y * sine[i][1]);
        put(half + u, y.x * cosine[i][0] + x.x * sine[i][0], y.y * cosine[i][1] + x.y * sine[i][1]);
      }
    }
    if (BITS < 16 || !is_q)
      for (int u = 2 * half + lane; u < dims / 2; u += 32) {
        const float2 x = unpack_two<T>(in[u]);
        put(u, x.x, x.y);
      }
    if constexpr (BITS < 16) {
      __syncwarp();
      __half* scales = is_q ? nullptr : static_cast<__half*>(is_v ? cache.value_scales : cache.key_scales) + at / 32;
      store_rotated<T, BITS>(numbers, dims, to, scales, lane);
      __syncwarp();
    }
  }
}

}  // namespace hone::cuda
