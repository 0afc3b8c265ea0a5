// Sixteen fp32 lanes. Everything lives in its own namespace: the same source compiled for another instruction set must
// never be merged with this by the linker.
#pragma once
#include <immintrin.h>

#include <cstdint>

#define HONE_SET avx512

namespace hone::avx512 {

using Mask = __mmask16;
struct F {
  __m512 v;
  static constexpr int N = 16;
};
inline F zero() { return {_mm512_setzero_ps()}; }
inline F set1(float x) { return {_mm512_set1_ps(x)}; }
inline F load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline F load_half(const uint16_t* p) { return {_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p))}; }
inline F load_some(const float* p, int n) { return {_mm512_maskz_loadu_ps(Mask((1u << n) - 1), p)}; }
inline void store(float* p, F a) { _mm512_storeu_ps(p, a.v); }
inline void store_some(float* p, F a, int n) { _mm512_mask_storeu_ps(p, Mask((1u << n) - 1), a.v); }
inline void store_half(uint16_t* p, F a) { _mm256_storeu_si256((__m256i*)p, _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT)); }
inline F add(F a, F b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F sub(F a, F b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F mul(F a, F b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F div(F a, F b) { return {_mm512_div_ps(a.v, b.v)}; }
inline F fma(F a, F b, F c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline F fnma(F a, F b, F c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
inline F max(F a, F b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F min(F a, F b) { return {_mm512_min_ps(a.v, b.v)}; }
inline F abs(F a) { return {_mm512_abs_ps(a.v)}; }
inline F round(F a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline float sum(F a) { return _mm512_reduce_add_ps(a.v); }
inline float top(F a) { return _mm512_reduce_max_ps(a.v); }
// a * 2^n for whole n in the range of fp32
inline F scale2(F a, F n) { return {_mm512_scalef_ps(a.v, n.v)}; }
// lanes first + lane <= last && first + lane >= from ? a : b
inline F keep_range(F a, F b, int first, int from, int last) {
  const __m512i lane = _mm512_add_epi32(_mm512_set1_epi32(first), _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  const Mask m = _mm512_cmple_epi32_mask(lane, _mm512_set1_epi32(last)) & _mm512_cmpge_epi32_mask(lane, _mm512_set1_epi32(from));
  return {_mm512_mask_blend_ps(m, b.v, a.v)};
}
// 1 / a to about 1 ulp, for a neither tiny nor huge: 14 bits and a Newton step, a fifth of a division's time
inline F reciprocal(F a) {
  const __m512 y = _mm512_rcp14_ps(a.v);
  return {_mm512_fmadd_ps(_mm512_fnmadd_ps(a.v, y, _mm512_set1_ps(1.f)), y, y)};
}
// 32 whole numbers of at most 127 as bytes
inline void store_bytes(int8_t* p, const F (&a)[2]) {
  for (int i = 0; i < 2; i++) _mm_storeu_si128((__m128i*)(p + 16 * i), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a[i].v)));
}

}  // namespace hone::avx512
