// Functions of vectors, in the namespace of the instruction set that the including file chose.
#pragma once

namespace hone::HONE_SET {

// e^x to about 1 ulp for |x| <= 87, held at the ends beyond. Range reduction by ln 2 in two parts and a polynomial of
// degree 7 on |r| <= ln(2) / 2 (coefficients of Cephes' expf, Moshier 1989).
inline F exp(F x) {
  const F clamped = min(max(x, set1(-87.3f)), set1(88.f));
  const F n = round(mul(clamped, set1(1.44269504f)));
  F r = fnma(n, set1(0.693359375f), clamped);
  r = fnma(n, set1(-2.12194440e-4f), r);
  F p = set1(1.9875691500e-4f);
  p = fma(p, r, set1(1.3981999507e-3f));
  p = fma(p, r, set1(8.3334519073e-3f));
  p = fma(p, r, set1(4.1665795894e-2f));
  p = fma(p, r, set1(1.6666665459e-1f));
  p = fma(p, r, set1(5.0000001201e-1f));
  p = add(fma(mul(p, r), r, r), set1(1.f));
  return scale2(p, n);
}

// 2^x to about 1 ulp for -126 <= x <= 127, held at the lower end: minimax polynomial of degree 6 on |r| <= 1/2.
inline F exp2(F x) {
  const F clamped = max(x, set1(-126.f));
  const F n = round(clamped), r = sub(clamped, n);
  F p = set1(1.535336188319500e-4f);
  p = fma(p, r, set1(1.339887440266574e-3f));
  p = fma(p, r, set1(9.618437357674640e-3f));
  p = fma(p, r, set1(5.550332471162809e-2f));
  p = fma(p, r, set1(2.402264791363012e-1f));
  p = fma(p, r, set1(6.931472028550421e-1f));
  return scale2(fma(p, r, set1(1.f)), n);
}

inline F silu(F x) { return mul(x, reciprocal(add(set1(1.f), exp(sub(zero(), x))))); }

}  // namespace hone::HONE_SET
