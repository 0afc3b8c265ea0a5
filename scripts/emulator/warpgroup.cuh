// In the place of hone/warpgroup.cuh: products of a warpgroup are computed at once, warp by warp. So what they compute is checked, not whether
// registers or shared memory are left alone for as long as the real ones need them.
#pragma once
#include "hone/device.cuh"

#define HONE_WARPGROUP 1

namespace hone::device {

// Places in shared memory count from the block's own.
inline uint32_t shared_address(const void* p) { return uint32_t(static_cast<const uint8_t*>(p) - emulator::shared); }

namespace warpgroup {

template <class V>
void keep(V&) {}
inline uint4 load_16(const void* from) {
  uint4 v;
  memcpy(&v, from, 16);
  return v;
}
inline void fence() {}
inline void commit() {}
template <int PENDING>
void wait() {}
inline void fence_shared() {}
template <class V>
void pin(V&) {}
inline uint64_t descriptor(const void* base) {
  if (shared_address(base) % 1024) throw std::runtime_error("an operand that 1,024 does not divide");
  return shared_address(base) >> 4;
}

template <class T>
struct Product {
  template <int N>
  static void run(float (&c)[N], const uint32_t (&a)[4], uint64_t b, int add) {
    struct Operand {
      uint32_t a[4];
    } all[32];
    const Operand mine{{a[0], a[1], a[2], a[3]}};
    emulator::gather(&mine, all, sizeof(mine));
    for (int i = 0; i < N; i++) {
      const int row = emulator::lane() / 4 + i % 4 / 2 * 8, col = i / 4 * 8 + emulator::lane() % 4 * 2 + i % 2;
      double sum = add ? double(c[i]) : 0.;
      for (int k = 0; k < 16; k++) {
        const uint32_t left = all[row % 8 * 4 + k % 8 / 2].a[row / 8 + k / 8 * 2];
        uint32_t at = uint32_t(b & 0x3fff) * 16 + uint32_t(col / 8 * 1024 + col % 8 * 128 + k * 2);
        at ^= (at >> 7 & 7) << 4;
        uint16_t right;
        memcpy(&right, emulator::shared + at, 2);
        sum += number_of<T>(left, k % 2) * number_of<T>(right, 0);
      }
      c[i] = float(sum);
    }
  }
};

}  // namespace warpgroup
}  // namespace hone::device
