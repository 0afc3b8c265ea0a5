// fp16 and bf16 <-> fp32 in plain integer arithmetic: right anywhere, used where no instruction is at hand.
#pragma once
#include <cstdint>
#include <cstring>

namespace hone {

inline float bits_to_float(uint32_t u) {
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

inline uint32_t float_to_bits(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  return u;
}

inline float half_to_float(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16, mantissa = h & 0x3ff, exponent = (h >> 10) & 31;
  if (exponent == 31) return bits_to_float(sign | 0x7f800000 | (mantissa << 13));
  if (exponent) return bits_to_float(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float tiny = float(mantissa) * 5.9604644775390625e-8f;  // 2^-24: subnormal or zero
  return bits_to_float(sign | float_to_bits(tiny));
}

// Rounds to nearest, ties to even, as the hardware does.
inline uint16_t float_to_half(float f) {
  const uint32_t u = float_to_bits(f), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
  if (a >= 0x7f800000) return uint16_t(sign | 0x7c00 | (a > 0x7f800000 ? 0x200 : 0));
  if (a >= 0x477ff000) return uint16_t(sign | 0x7c00);
  if (a < 0x38800000) {  // subnormal half: let float addition do the rounding
    const float shifted = bits_to_float(a) + 0.5f;
    return uint16_t(sign | (float_to_bits(shifted) - 0x3f000000));
  }
  return uint16_t(sign | ((a + 0xfff + ((a >> 13) & 1) - 0x38000000) >> 13));
}

inline float bfloat_to_float(uint16_t h) { return bits_to_float(uint32_t(h) << 16); }

}  // namespace hone
