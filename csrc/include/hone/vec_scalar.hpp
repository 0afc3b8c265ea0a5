// Eight fp32 lanes in plain C++; see vec_avx512.hpp.
#pragma once
#include <cmath>
#include <cstdint>

#include "hone/half.hpp"

#define HONE_SET scalar

namespace hone::scalar {

struct F {
  float v[8];
  static constexpr int N = 8;
};
template <class Op>
inline F each(Op op) {
  F r;
  for (int i = 0; i < F::N; i++) r.v[i] = op(i);
  return r;
}
inline F set1(float x) { return each([&](int) { return x; }); }
inline F zero() { return set1(0.f); }
inline F load(const float* p) { return each([&](int i) { return p[i]; }); }
inline F load_half(const uint16_t* p) { return each([&](int i) { return half_to_float(p[i]); }); }
inline F load_some(const float* p, int n) { return each([&](int i) { return i < n ? p[i] : 0.f; }); }
inline void store_some(float* p, F a, int n) { for (int i = 0; i < n; i++) p[i] = a.v[i]; }
inline void store(float* p, F a) { store_some(p, a, F::N); }
inline void store_half(uint16_t* p, F a) { for (int i = 0; i < F::N; i++) p[i] = float_to_half(a.v[i]); }
inline F add(F a, F b) { return each([&](int i) { return a.v[i] + b.v[i]; }); }
inline F sub(F a, F b) { return each([&](int i) { return a.v[i] - b.v[i]; }); }
inline F mul(F a, F b) { return each([&](int i) { return a.v[i] * b.v[i]; }); }
inline F div(F a, F b) { return each([&](int i) { return a.v[i] / b.v[i]; }); }
inline F fma(F a, F b, F c) { return each([&](int i) { return a.v[i] * b.v[i] + c.v[i]; }); }
inline F fnma(F a, F b, F c) { return each([&](int i) { return c.v[i] - a.v[i] * b.v[i]; }); }
inline F max(F a, F b) { return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; }); }
inline F min(F a, F b) { return each([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; }); }
inline F abs(F a) { return each([&](int i) { return std::fabs(a.v[i]); }); }
inline F round(F a) { return each([&](int i) { return std::nearbyint(a.v[i]); }); }
inline float sum(F a) { return ((a.v[0] + a.v[4]) + (a.v[2] + a.v[6])) + ((a.v[1] + a.v[5]) + (a.v[3] + a.v[7])); }
inline float top(F a) {
  float m = a.v[0];
  for (int i = 1; i < F::N; i++) m = a.v[i] > m ? a.v[i] : m;
  return m;
}
inline F scale2(F a, F n) { return each([&](int i) { return std::ldexp(a.v[i], int(n.v[i])); }); }
inline F keep_range(F a, F b, int first, int from, int last) {
  return each([&](int i) { return first + i >= from && first + i <= last ? a.v[i] : b.v[i]; });
}
inline F reciprocal(F a) { return div(set1(1.f), a); }
inline void store_bytes(int8_t* p, const F (&a)[4]) {
  for (int i = 0; i < 32; i++) p[i] = int8_t(int(a[i / 8].v[i % 8]));
}

}  // namespace hone::scalar
