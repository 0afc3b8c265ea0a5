// In the place of hone/device.cuh: copies land at once, tensor-core products are computed lane by lane.
#pragma once
#include "fibers.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define HONE_BULK_COPY EMULATE_BULK

inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  const float2 x = __half22float2(a), y = __half22float2(b), z = __half22float2(c);
  return __floats2half2_rn(std::fma(x.x, y.x, z.x), std::fma(x.y, y.y, z.y));
}

namespace hone::device {

inline void copy_16(void* to, const void* from, bool valid = true) { valid ? memcpy(to, from, 16) : memset(to, 0, 16); }
inline void copy_commit() {}
inline void copy_wait(int) {}
inline void launch_dependents() {}
inline void wait_for_dependencies() {}

// A barrier: bytes still awaited in the low half, phases completed in the high one.
inline void barrier_init(uint64_t* b) { *b = 0; }
inline void barrier_init_done() {}
inline void barrier_expect(uint64_t* b, uint32_t num_bytes) { *b += num_bytes; }
inline void barrier_wait(uint64_t* b, uint32_t phase) {
  while ((*b >> 32 & 1) == phase) emulator::yield();
}
inline void copy_bulk(void* to, const void* from, uint32_t num_bytes, uint64_t* b) {
  if (num_bytes % 16 || uintptr_t(to) % 16 || uintptr_t(from) % 16) throw std::runtime_error("bulk copy that 16 does not divide");
  memcpy(to, from, num_bytes);
  *b -= num_bytes;
  if (uint32_t(*b) == 0) *b += uint64_t(1) << 32;
}

template <class T>
double number_of(uint32_t word, int half) {
  const uint16_t bits = uint16_t(word >> (16 * half));
  T value;
  memcpy(&value, &bits, 2);
  return double(float(value));
}

// mma.m16n8k16 of a warp, each sum rounded once.
template <class T>
void mma(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  struct Operands {
    uint32_t a[4], b[2];
  } all[32];
  const Operands mine{{a[0], a[1], a[2], a[3]}, {b0, b1}};
  emulator::gather(&mine, all, sizeof(mine));
  for (int i = 0; i < 4; i++) {
    const int row = emulator::lane() / 4 + i / 2 * 8, col = emulator::lane() % 4 * 2 + i % 2;
    double sum = double(c[i]);
    for (int k = 0; k < 16; k++) {
      const uint32_t left = all[row % 8 * 4 + k % 8 / 2].a[row / 8 + k / 8 * 2], right = all[col * 4 + k % 8 / 2].b[k / 8];
      sum += number_of<T>(left, k % 2) * number_of<T>(right, k % 2);
    }
    c[i] = float(sum);
  }
}

template <class T>
T round_to(float v);
template <>
inline __half round_to<__half>(float v) {
  return __float2half_rn(v);
}
template <>
inline __nv_bfloat16 round_to<__nv_bfloat16>(float v) {
  return __float2bfloat16_rn(v);
}

}  // namespace hone::device
