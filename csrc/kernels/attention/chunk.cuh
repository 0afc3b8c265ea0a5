// 16 tokens of the cache, which one page holds: how they come to shared memory and become 16-bit numbers there.
//
// Layout. 16 bits: numbers as they are. 8 and 4 bits: each 32 numbers of a head, rotated by the Hadamard matrix of 32 (its rows have
// length 1, so it is its own inverse), share an fp16 scale.
//   8 bits: number = scale * (code - 128), bytes in order
//   4 bits: number = scale * (2 code - 15); the nibbles of a word from the lowest hold numbers 0, 2, 4, 6, 1, 3, 5, 7, so that two
//           neighbours lie 16 bits apart and become a pair by one mask
#pragma once
#include "kernels/attention/attention.hpp"
#include "kernels/attention/warp.cuh"

namespace hone::cuda {

constexpr int kChunk = 16;

// Eight codes become fp16 numbers: `q` has one word at 4 bits, two at 8.
template <int BITS>
__device__ __forceinline__ uint4 unpack_f16(const uint32_t* q, __half scale) {
  __half2 v[4];
  uint32_t* word = reinterpret_cast<uint32_t*>(v);
  if constexpr (BITS == 8) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      word[i] = __byte_perm(q[i / 2], 0x64646464u, i % 2 ? 0x4342 : 0x4140);  // 1024 + code
      v[i] = __hsub2(v[i], __float2half2_rn(1152.f));
    }
  } else {
    const uint32_t first = q[0] << 1, second = q[0] >> 7;
    word[0] = (first & 0x001e001eu) | 0x64006400u, word[1] = (first & 0x01e001e0u) | 0x64006400u;  // 1024 + 2 code, 1024 + 32 code
    word[2] = (second & 0x001e001eu) | 0x64006400u, word[3] = (second & 0x01e001e0u) | 0x64006400u;
#pragma unroll
    for (int i = 0; i < 4; i++)
      v[i] = i % 2 ? __hfma2(v[i], __float2half2_rn(1.f / 16.f), __float2half2_rn(-79.f)) : __hsub2(v[i], __float2half2_rn(1039.f));
  }
#pragma unroll
  for (int i = 0; i < 4; i++) v[i] = __hmul2(v[i], __half2half2(scale));
  return {word[0], word[1], word[2], word[3]};
}

// bf16 has too few bits for the offset beside 8-bit codes, or for a scale without loss: through fp32.
template <int BITS>
__device__ __forceinline__ uint4 unpack_bf16(const uint32_t* q, __half scale) {
  const float by = __half2float(scale);
  uint32_t word[4];
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float2 v;
    if constexpr (BITS == 8) {
      v.x = __uint_as_float(__byte_perm(q[i / 2], 0x4b000000u, 0x7550 + i % 2 * 2)) - 8388736.f;  // 2^23 + code
      v.y = __uint_as_float(__byte_perm(q[i / 2], 0x4b000000u, 0x7551 + i % 2 * 2)) - 8388736.f;
    } else {
      const uint32_t shifted = i == 0 ? q[0] << 1 : q[0] >> (4 * i - 1);
      v = unpack_two<__nv_bfloat16>((shifted & 0x001e001eu) | 0x43004300u);  // 128 + 2 code
      v.x -= 143.f, v.y -= 143.f;
    }
    word[i] = pack_two<__nv_bfloat16>(v.x * by, v.y * by);
  }
  return {word[0], word[1], word[2], word[3]};
}

template <class T, int BITS, int DIM>
struct Chunk {
  static constexpr int token_bytes = kTokenBytes<DIM>, pieces = DIM / 8;
  static constexpr int unpacked_bytes = kChunk * token_bytes;  // of keys or of values in 16-bit numbers
  static constexpr int code_bytes = kChunk * DIM * BITS / 8;   // of keys, then of values, then the scales of each
  static constexpr int stage_bytes = 2 * (BITS == 16 ? unpacked_bytes : code_bytes + kChunk * DIM / 16);

  // A warp starts copying 16 keys from `key` on, and their values, into a stage. At 16 bits zeros stand for those from `end` on.
  static __device__ __forceinline__ void fetch(const KVPages& cache, const int* table, int kv_head, int key, int end, uint8_t* to, int lane) {
    const int64_t at = cache.at(table[key >> cache.page_shift], kv_head, key);
    if constexpr (BITS == 16) {
      const T *keys = static_cast<const T*>(cache.keys) + at, *values = static_cast<const T*>(cache.values) + at;
#pragma unroll
      for (int i = 0; i < kChunk * pieces / 32; i++) {
        const int token = (lane + 32 * i) / pieces, piece = (lane + 32 * i) % pieces;
        const bool valid = key + token < end && piece * 8 < cache.head_dim;
        const int from = valid ? token * cache.head_dim + piece * 8 : 0;
        copy_16(to + token * token_bytes + piece * 16, keys + from, valid);
        copy_16(to + (kChunk + token) * token_bytes + piece * 16, values + from, valid);
      }
    } else {
      const uint8_t *keys = static_cast<const uint8_t*>(cache.keys) + at * BITS / 8, *values = static_cast<const uint8_t*>(cache.values) + at * BITS / 8;
#pragma unroll
      for (int i = 0; i < (code_bytes / 16 + 31) / 32; i++) {
        const int from = (lane + 32 * i) * 16;
        if (from < kChunk * cache.head_dim * BITS / 8) copy_16(to + from, keys + from), copy_16(to + code_bytes + from, values + from);
      }
      const int from = lane % 16 * 16;  // the upper lanes bring the scales of values
      if (from < cache.head_dim) {
        const uint8_t* scales = static_cast<const uint8_t*>(lane < 16 ? cache.key_scales : cache.value_scales) + at / 16;
        copy_16(to + 2 * code_bytes + lane / 16 * (kChunk * DIM / 16) + from, scales + from);
      }
    }
  }

  // A warp makes 16-bit numbers of the keys (`values`: of the values) of a stage; zeros of those from `end` on and beyond the head.
  static __device__ __forceinline__ void unpack(const uint8_t* stage, bool values, int head_dim, int key, int end, uint8_t* to, int lane) {
    const uint8_t* codes = stage + (values ? code_bytes : 0);
    const __half* scales = reinterpret_cast<const __half*>(stage + 2 * code_bytes + (values ? kChunk * DIM / 16 : 0));
#pragma unroll 2
    for (int i = 0; i < kChunk * pieces / 32; i++) {
      const int token = (lane + 32 * i) / pieces, piece = (lane + 32 * i) % pieces;
      uint4 eight = {0, 0, 0, 0};
      if (key + token < end && piece * 8 < head_dim) {
        const int number = token * head_dim + piece * 8;
        const uint32_t* q = reinterpret_cast<const uint32_t*>(codes + number * BITS / 8);
        if constexpr (__is_same(T, __half))
          eight = unpack_f16<BITS>(q, scales[number / 32]);
        else
          eight = unpack_bf16<BITS>(q, scales[number / 32]);
      }
      *reinterpret_cast<uint4*>(to + token * token_bytes + piece * 16) = eight;
    }
  }
};

}  // namespace hone::cuda
