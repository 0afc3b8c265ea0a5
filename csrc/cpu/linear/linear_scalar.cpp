// Products of a unit of 32 weight rows with a tile of activation rows in plain C++ (layout: see linear_avx512.cpp).
// The fallback that is right anywhere, and the plainest statement of the layout.
#include <utility>

#include "hone/half.hpp"
#include "hone/kernels.hpp"

namespace hone::scalar {
namespace {

template <class T>
inline T read(const uint8_t* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// Code of row r (0..31), column c (0..31) of a group.
template <bool Wide>
inline int code(const uint8_t* w, int r, int c) {
  const int quad = c / 4, lane = r / 8 * 32 + r % 8 * 4 + c % 4;
  if constexpr (Wide) return w[quad * 128 + lane];
  const uint8_t byte = w[quad / 2 * 128 + lane];
  return quad % 2 ? byte >> 4 : byte & 15;
}

template <int T, bool Wide, bool Min>
void unit_codes(const uint8_t* unit, const uint8_t* act, int64_t groups, float* out, int64_t ldo, bool add) {
  constexpr int64_t codes = Wide ? 1024 : 512, step = codes + (Min ? 128 : 64);
  float acc[T][kUnitRows] = {};
  for (int64_t g = 0; g < groups; g++, unit += step, act += kActGroupBytes * T)
    for (int t = 0; t < T; t++) {
      const float scale = read<float>(act + 32 * T + 4 * t), scaled = read<float>(act + 40 * T + 4 * t);
      const int32_t start = Min ? 0 : read<int32_t>(act + 36 * T + 4 * t) * (Wide ? 16 : 1);
      for (int r = 0; r < kUnitRows; r++) {
        int32_t d = start;
        for (int c = 0; c < kGroup; c++) d += code<Wide>(unit, r, c) * int8_t(act[(c / 4 * T + t) * 4 + c % 4]);
        acc[t][r] += float(d) * (half_to_float(read<uint16_t>(unit + codes + 2 * r)) * scale);
        if (Min) acc[t][r] += half_to_float(read<uint16_t>(unit + codes + 64 + 2 * r)) * scaled;
      }
    }
  for (int t = 0; t < T; t++)
    for (int r = 0; r < kUnitRows; r++) out[t * ldo + r] = add ? out[t * ldo + r] + acc[t][r] : acc[t][r];
}

template <Format Fmt>
inline float dense(const uint8_t* w, int r) {
  if constexpr (Fmt == Format::f16) return half_to_float(read<uint16_t>(w + 2 * r));
  if constexpr (Fmt == Format::bf16) return bfloat_to_float(read<uint16_t>(w + 2 * r));
  return read<float>(w + 4 * r);
}

template <int T, Format Fmt>
void unit_dense(const uint8_t* unit, const uint8_t* act, int64_t cols, float* out, int64_t ldo, bool add) {
  constexpr int step = Fmt == Format::f32 ? 128 : 64;
  float acc[T][kUnitRows] = {};
  for (int64_t k = 0; k < cols; k++, unit += step)
    for (int t = 0; t < T; t++) {
      const float x = read<float>(act + (k * T + t) * 4);
      for (int r = 0; r < kUnitRows; r++) acc[t][r] += dense<Fmt>(unit, r) * x;
    }
  for (int t = 0; t < T; t++)
    for (int r = 0; r < kUnitRows; r++) out[t * ldo + r] = add ? out[t * ldo + r] + acc[t][r] : acc[t][r];
}

template <int... I>
constexpr LinearKernels make(std::integer_sequence<int, I...>) {
  LinearKernels k{};
  ((k.unit[int(Format::q4)][I + 1] = unit_codes<I + 1, false, false>), ...);
  ((k.unit[int(Format::q4_min)][I + 1] = unit_codes<I + 1, false, true>), ...);
  ((k.unit[int(Format::q8)][I + 1] = unit_codes<I + 1, true, false>), ...);
  ((k.unit[int(Format::q8_min)][I + 1] = unit_codes<I + 1, true, true>), ...);
  ((k.unit[int(Format::f16)][I + 1] = unit_dense<I + 1, Format::f16>), ...);
  ((k.unit[int(Format::bf16)][I + 1] = unit_dense<I + 1, Format::bf16>), ...);
  ((k.unit[int(Format::f32)][I + 1] = unit_dense<I + 1, Format::f32>), ...);
  return k;
}

}  // namespace
}  // namespace hone::scalar

namespace hone {
const LinearKernels linear_kernels_scalar = scalar::make(std::make_integer_sequence<int, kTile>{});
}
