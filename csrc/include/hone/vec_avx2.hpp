// Eight fp32 lanes of AVX2 with FMA and F16C; see vec_avx512.hpp.
#pragma once
#include <immintrin.h>

#include <cstdint>

#define HONE_SET avx2

namespace hone::avx2 {

struct F {
  __m256 v;
  static constexpr int N = 8;
};
inline __m256i some(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline F zero() { return {_mm256_setzero_ps()}; }
inline F set1(float x) { return {_mm256_set1_ps(x)}; }
inline F load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline F load_half(const uint16_t* p) { return {_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p))}; }
inline F load_some(const float* p, int n) { return {_mm256_maskload_ps(p, some(n))}; }
inline void store(float* p, F a) { _mm256_storeu_ps(p, a.v); }
inline void store_some(float* p, F a, int n) { _mm256_maskstore_ps(p, some(n), a.v); }
inline void store_half(uint16_t* p, F a) { _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT)); }
inline F add(F a, F b) { return {_mm256_add_ps(a.v, b.v)}; }
inline F sub(F a, F b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline F mul(F a, F b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline F div(F a, F b) { return {_mm256_div_ps(a.v, b.v)}; }
inline F fma(F a, F b, F c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline F fnma(F a, F b, F c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
inline F max(F a, F b) { return {_mm256_max_ps(a.v, b.v)}; }
inline F min(F a, F b) { return {_mm256_min_ps(a.v, b.v)}; }
inline F abs(F a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.f), a.v)}; }
inline F round(F a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
inline float sum(F a) {
  __m128 h = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  h = _mm_add_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}
inline float top(F a) {
  __m128 h = _mm_max_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  h = _mm_max_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_max_ss(h, _mm_movehdup_ps(h)));
}
inline F scale2(F a, F n) {
  const __m256i e = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n.v), _mm256_set1_epi32(127)), 23);
  return {_mm256_mul_ps(a.v, _mm256_castsi256_ps(e))};
}
inline F keep_range(F a, F b, int first, int from, int last) {
  const __m256i lane = _mm256_add_epi32(_mm256_set1_epi32(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  const __m256i out = _mm256_or_si256(_mm256_cmpgt_epi32(lane, _mm256_set1_epi32(last)), _mm256_cmpgt_epi32(_mm256_set1_epi32(from), lane));
  return {_mm256_blendv_ps(a.v, b.v, _mm256_castsi256_ps(out))};
}
inline F reciprocal(F a) { return div(set1(1.f), a); }
inline void store_bytes(int8_t* p, const F (&a)[4]) {
  __m256i i[4];
  for (int k = 0; k < 4; k++) i[k] = _mm256_cvtps_epi32(a[k].v);
  const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(i[0], i[1]), _mm256_packs_epi32(i[2], i[3]));
  _mm256_storeu_si256((__m256i*)p, _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

}  // namespace hone::avx2
