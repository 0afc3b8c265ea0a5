// Products of a unit of 32 weight rows with a tile of 1 to 8 activation rows: AVX-512 with VNNI.
//
// Layout: a unit is one sequential stream. A group of 32 columns holds its codes, then 32 fp16 scales, then (if any) 32
// fp16 minimums. Codes are interleaved 8 rows by 4 columns, so that a 32-bit lane is a row and no horizontal sum is ever
// needed; two neighbouring blocks of 8 rows make one 512-bit register. 4 bits: byte = column c (low), c + 4 (high).
// Work: one call is one unit times one tile. VPDPBUSD multiplies unsigned codes by int8 activations into int32; the zero
// point enters as the start value -zero * sum(x); a group ends in one multiply and one FMA a register.
// One activation row streams at the memory's speed. Each broadcast of activations serves both registers of a unit: with one
// load a product the load ports would bind (96 cycles against 80 of the multipliers). Up to five rows share the unpacked
// codes, so that prompts need no unpacked copy; six to eight take a group in two halves, with 16 fp32 sums kept in
// registers, rather than the whole unit twice: the second pass would compute while the memory idles.
// Every row is summed in the same order whatever T is: a result does not depend on its company.
#include <immintrin.h>

#include <utility>

#include "hone/kernels.hpp"

namespace hone::avx512 {
namespace {

constexpr int kInFlight = 5;  // activation rows whose int32 sums are in registers at once, beside the fp32 sums of all

inline __m512i broadcast(const uint8_t* p) { return _mm512_set1_epi32(*(const int32_t*)p); }
inline __m512 halves(const uint8_t* p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p)); }

template <int N>
inline void finish(__m512 (&acc)[2][N], float* out, int64_t ldo, bool add) {
  for (int t = 0; t < N; t++)
    for (int h = 0; h < 2; h++) {
      float* p = out + t * ldo + h * 16;
      _mm512_storeu_ps(p, add ? _mm512_add_ps(_mm512_loadu_ps(p), acc[h][t]) : acc[h][t]);
    }
}

// One group of 32 columns: int32 sums of codes times N rows of a tile of T, 16 weight rows a register.
template <int T, int N, bool Wide>
inline void multiply(const uint8_t* w, const uint8_t* x, __m512i (&d)[2][N]) {
  const __m512i low = _mm512_set1_epi8(15);
#pragma GCC unroll 8
  for (int i = 0; i < (Wide ? 8 : 4); i++) {
    const __m512i q0 = _mm512_loadu_si512(w + i * 128), q1 = _mm512_loadu_si512(w + i * 128 + 64);
    if constexpr (Wide) {
#pragma GCC unroll 8
      for (int t = 0; t < N; t++) {
        const __m512i b = broadcast(x + (i * T + t) * 4);
        d[0][t] = _mm512_dpbusd_epi32(d[0][t], q0, b);
        d[1][t] = _mm512_dpbusd_epi32(d[1][t], q1, b);
      }
    } else {
      const __m512i lo0 = _mm512_and_si512(q0, low), lo1 = _mm512_and_si512(q1, low);
#pragma GCC unroll 8
      for (int t = 0; t < N; t++) {
        const __m512i b = broadcast(x + (2 * i * T + t) * 4);
        d[0][t] = _mm512_dpbusd_epi32(d[0][t], lo0, b);
        d[1][t] = _mm512_dpbusd_epi32(d[1][t], lo1, b);
      }
      const __m512i hi0 = _mm512_and_si512(_mm512_srli_epi16(q0, 4), low), hi1 = _mm512_and_si512(_mm512_srli_epi16(q1, 4), low);
#pragma GCC unroll 8
      for (int t = 0; t < N; t++) {
        const __m512i b = broadcast(x + ((2 * i + 1) * T + t) * 4);
        d[0][t] = _mm512_dpbusd_epi32(d[0][t], hi0, b);
        d[1][t] = _mm512_dpbusd_epi32(d[1][t], hi1, b);
      }
    }
  }
}

// Rows t0 .. t0 + N of a tile of T: one group's codes times activations, scaled and added to the fp32 sums.
template <int T, int t0, int N, bool Wide, bool Min>
inline void add_group(const uint8_t* w, const uint8_t* x, __m512 (&acc)[2][T]) {
  constexpr int64_t codes = Wide ? 1024 : 512;
  const uint8_t *scales = x + 32 * T, *sums = x + 36 * T, *scaled = x + 40 * T;
  __m512i d[2][N];
  for (int t = 0; t < N; t++) {
    if constexpr (Min) d[0][t] = _mm512_setzero_si512();
    else if constexpr (Wide) d[0][t] = _mm512_slli_epi32(broadcast(sums + 4 * (t0 + t)), 4);
    else d[0][t] = broadcast(sums + 4 * (t0 + t));
    d[1][t] = d[0][t];
  }
  multiply<T, N, Wide>(w, x + 4 * t0, d);
  const __m512 s0 = halves(w + codes), s1 = halves(w + codes + 32);
  for (int t = 0; t < N; t++) {
    const __m512 sx = _mm512_set1_ps(*(const float*)(scales + 4 * (t0 + t)));
    acc[0][t0 + t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(d[0][t]), _mm512_mul_ps(s0, sx), acc[0][t0 + t]);
    acc[1][t0 + t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(d[1][t]), _mm512_mul_ps(s1, sx), acc[1][t0 + t]);
  }
  if constexpr (Min) {
    const __m512 m0 = halves(w + codes + 64), m1 = halves(w + codes + 96);
    for (int t = 0; t < N; t++) {
      const __m512 sum = _mm512_set1_ps(*(const float*)(scaled + 4 * (t0 + t)));
      acc[0][t0 + t] = _mm512_fmadd_ps(m0, sum, acc[0][t0 + t]);
      acc[1][t0 + t] = _mm512_fmadd_ps(m1, sum, acc[1][t0 + t]);
    }
  }
}

template <int T, bool Wide, bool Min>
void unit_codes(const uint8_t* w, const uint8_t* x, int64_t groups, float* out, int64_t ldo, bool add) {
  constexpr int64_t step = (Wide ? 1024 : 512) + (Min ? 128 : 64);
  constexpr int first = T <= kInFlight ? T : (T + 1) / 2;
  __m512 acc[2][T];
  for (auto& row : acc)
    for (auto& a : row) a = _mm512_setzero_ps();
  for (int64_t g = 0; g < groups; g++, w += step, x += kActGroupBytes * T) {
    add_group<T, 0, first, Wide, Min>(w, x, acc);
    if constexpr (first < T) add_group<T, first, T - first, Wide, Min>(w, x, acc);
  }
  finish<T>(acc, out, ldo, add);
}

template <Format Fmt>
inline __m512 dense(const uint8_t* w, int h) {
  if constexpr (Fmt == Format::f16) return halves(w + h * 32);
  else if constexpr (Fmt == Format::bf16)
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)(w + h * 32))), 16));
  else return _mm512_loadu_ps(w + h * 64);
}

template <int T, Format Fmt>
void unit_dense(const uint8_t* unit, const uint8_t* act, int64_t cols, float* out, int64_t ldo, bool add) {
  constexpr int step = Fmt == Format::f32 ? 128 : 64;
  __m512 acc[2][T];
  for (auto& row : acc)
    for (auto& a : row) a = _mm512_setzero_ps();
  const float* x = (const float*)act;
  for (int64_t k = 0; k < cols; k++, unit += step, x += T) {
    const __m512 w0 = dense<Fmt>(unit, 0), w1 = dense<Fmt>(unit, 1);
#pragma GCC unroll 8
    for (int t = 0; t < T; t++) {
      const __m512 b = _mm512_set1_ps(x[t]);
      acc[0][t] = _mm512_fmadd_ps(w0, b, acc[0][t]);
      acc[1][t] = _mm512_fmadd_ps(w1, b, acc[1][t]);
    }
  }
  finish<T>(acc, out, ldo, add);
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
}  // namespace hone::avx512

namespace hone {
const LinearKernels linear_kernels_avx512 = avx512::make(std::make_integer_sequence<int, kTile>{});
}
