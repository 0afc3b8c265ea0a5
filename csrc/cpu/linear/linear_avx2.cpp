// Products of a unit of 32 weight rows with a tile of 1 to 8 activation rows: AVX2 (layout: see linear_avx512.cpp).
//
// VPMADDUBSW multiplies unsigned codes by int8 activations into int16 pairs; with nibbles a group's 8 products of at most
// 2 * 15 * 127 stay below 2^15, so one widening multiply ends the group. 8-bit codes are split into two nibbles, each
// summed apart: exact for all 256 codes, 7 instructions for 32 products where sign tricks need 4 but lose -128.
// Blocks (8 rows) and rows of activations in flight are chosen so that 16 registers hold all sums.
#include <immintrin.h>

#include <utility>

#include "hone/kernels.hpp"

namespace hone::avx2 {
namespace {

inline __m256i broadcast(const uint8_t* p) { return _mm256_set1_epi32(*(const int32_t*)p); }
inline __m256 halves(const uint8_t* p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)); }

template <int B, int N>
inline void finish(__m256 (&acc)[B][N], float* out, int64_t ldo, bool add) {
  for (int t = 0; t < N; t++)
    for (int b = 0; b < B; b++) {
      float* p = out + t * ldo + b * 8;
      _mm256_storeu_ps(p, add ? _mm256_add_ps(_mm256_loadu_ps(p), acc[b][t]) : acc[b][t]);
    }
}

// int32 sums of one group for B blocks from w (blocks 32 bytes apart) and N rows of a tile of T.
template <int T, int N, int B>
inline void multiply_narrow(const uint8_t* w, const uint8_t* x, __m256i (&d)[B][N]) {
  const __m256i low = _mm256_set1_epi8(15), one = _mm256_set1_epi16(1);
  __m256i a[B][N];
  for (auto& row : a)
    for (auto& v : row) v = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (int i = 0; i < 4; i++)
#pragma GCC unroll 4
    for (int b = 0; b < B; b++) {
      const __m256i q = _mm256_loadu_si256((const __m256i*)(w + i * 128 + b * 32));
      const __m256i lo = _mm256_and_si256(q, low), hi = _mm256_and_si256(_mm256_srli_epi16(q, 4), low);
#pragma GCC unroll 4
      for (int t = 0; t < N; t++) {
        a[b][t] = _mm256_add_epi16(a[b][t], _mm256_maddubs_epi16(lo, broadcast(x + (2 * i * T + t) * 4)));
        a[b][t] = _mm256_add_epi16(a[b][t], _mm256_maddubs_epi16(hi, broadcast(x + ((2 * i + 1) * T + t) * 4)));
      }
    }
  for (int b = 0; b < B; b++)
    for (int t = 0; t < N; t++) d[b][t] = _mm256_add_epi32(d[b][t], _mm256_madd_epi16(a[b][t], one));
}

template <int T, int N, int B>
inline void multiply_wide(const uint8_t* w, const uint8_t* x, __m256i (&d)[B][N]) {
  const __m256i low = _mm256_set1_epi8(15), one = _mm256_set1_epi16(1), sixteen = _mm256_set1_epi16(16);
  for (int b = 0; b < B; b++) {
    __m256i lo[N], hi[N];
    for (int t = 0; t < N; t++) lo[t] = hi[t] = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
      const __m256i q = _mm256_loadu_si256((const __m256i*)(w + i * 128 + b * 32));
      const __m256i l = _mm256_and_si256(q, low), h = _mm256_and_si256(_mm256_srli_epi16(q, 4), low);
#pragma GCC unroll 4
      for (int t = 0; t < N; t++) {
        const __m256i v = broadcast(x + (i * T + t) * 4);
        lo[t] = _mm256_add_epi16(lo[t], _mm256_maddubs_epi16(l, v));
        hi[t] = _mm256_add_epi16(hi[t], _mm256_maddubs_epi16(h, v));
      }
    }
    for (int t = 0; t < N; t++)
      d[b][t] = _mm256_add_epi32(d[b][t], _mm256_add_epi32(_mm256_madd_epi16(lo[t], one), _mm256_madd_epi16(hi[t], sixteen)));
  }
}

// N rows, from row t0 on, of a tile of T.
template <int T, int N, bool Wide, bool Min>
void rows_codes(const uint8_t* unit, const uint8_t* act, int64_t groups, int t0, float* out, int64_t ldo, bool add) {
  constexpr int B = N == 1 ? 4 : N == 2 && !Wide ? 2 : 1;   // one row must read the unit once, in sequence
  constexpr int64_t codes = Wide ? 1024 : 512, step = codes + (Min ? 128 : 64);
  for (int b0 = 0; b0 < 4; b0 += B) {
    __m256 acc[B][N];
    for (auto& row : acc)
      for (auto& a : row) a = _mm256_setzero_ps();
    const uint8_t *w = unit, *x = act + 4 * t0;
    for (int64_t g = 0; g < groups; g++, w += step, x += kActGroupBytes * T) {
      const uint8_t *scales = x + 32 * T, *sums = x + 36 * T, *scaled = x + 40 * T;
      __m256i d[B][N];
      for (int b = 0; b < B; b++)
        for (int t = 0; t < N; t++) {
          if constexpr (Min) d[b][t] = _mm256_setzero_si256();
          else if constexpr (Wide) d[b][t] = _mm256_slli_epi32(broadcast(sums + 4 * t), 4);
          else d[b][t] = broadcast(sums + 4 * t);
        }
      if constexpr (Wide) multiply_wide<T, N, B>(w + b0 * 32, x, d);
      else multiply_narrow<T, N, B>(w + b0 * 32, x, d);
      for (int b = 0; b < B; b++) {
        const __m256 s = halves(w + codes + (b0 + b) * 16);
        for (int t = 0; t < N; t++) {
          const __m256 sx = _mm256_mul_ps(s, _mm256_set1_ps(*(const float*)(scales + 4 * t)));
          acc[b][t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(d[b][t]), sx, acc[b][t]);
        }
        if constexpr (Min) {
          const __m256 m = halves(w + codes + 64 + (b0 + b) * 16);
          for (int t = 0; t < N; t++)
            acc[b][t] = _mm256_fmadd_ps(m, _mm256_set1_ps(*(const float*)(scaled + 4 * t)), acc[b][t]);
        }
      }
    }
    finish<B, N>(acc, out + t0 * ldo + b0 * 8, ldo, add);
  }
}

template <int T, bool Wide, bool Min>
void unit_codes(const uint8_t* unit, const uint8_t* act, int64_t groups, float* out, int64_t ldo, bool add) {
  constexpr int first = T < 4 ? T : 4;
  rows_codes<T, first, Wide, Min>(unit, act, groups, 0, out, ldo, add);
  if constexpr (T > 4) rows_codes<T, T - 4, Wide, Min>(unit, act, groups, 4, out, ldo, add);
}

template <Format Fmt>
inline __m256 dense(const uint8_t* w, int b) {
  if constexpr (Fmt == Format::f16) return halves(w + b * 16);
  else if constexpr (Fmt == Format::bf16)
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)(w + b * 16))), 16));
  else return _mm256_loadu_ps((const float*)(w + b * 32));
}

template <int T, int N, Format Fmt>
void rows_dense(const uint8_t* unit, const uint8_t* act, int64_t cols, int t0, float* out, int64_t ldo, bool add) {
  constexpr int step = Fmt == Format::f32 ? 128 : 64, B = N <= 3 ? 4 : 2;
  for (int b0 = 0; b0 < 4; b0 += B) {
    __m256 acc[B][N];
    for (auto& row : acc)
      for (auto& a : row) a = _mm256_setzero_ps();
    const uint8_t* w = unit;
    const float* x = (const float*)act + t0;
    for (int64_t k = 0; k < cols; k++, w += step, x += T) {
      __m256 v[B];
      for (int b = 0; b < B; b++) v[b] = dense<Fmt>(w, b0 + b);
#pragma GCC unroll 4
      for (int t = 0; t < N; t++) {
        const __m256 s = _mm256_set1_ps(x[t]);
        for (int b = 0; b < B; b++) acc[b][t] = _mm256_fmadd_ps(v[b], s, acc[b][t]);
      }
    }
    finish<B, N>(acc, out + t0 * ldo + b0 * 8, ldo, add);
  }
}

template <int T, Format Fmt>
void unit_dense(const uint8_t* unit, const uint8_t* act, int64_t cols, float* out, int64_t ldo, bool add) {
  constexpr int first = T < 4 ? T : 4;
  rows_dense<T, first, Fmt>(unit, act, cols, 0, out, ldo, add);
  if constexpr (T > 4) rows_dense<T, T - 4, Fmt>(unit, act, cols, 4, out, ldo, add);
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
}  // namespace hone::avx2

namespace hone {
const LinearKernels linear_kernels_avx2 = avx2::make(std::make_integer_sequence<int, kTile>{});
}
