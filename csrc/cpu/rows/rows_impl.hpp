// What happens to a row between two products: normalization, activation, rotation, and the quantization of activations.
//
// One source for all instruction sets (the vector type F comes from vec_<set>.hpp). Activations are quantized in the same
// pass that normalizes or gates them, straight into the tile that the next product reads: groups of 32 columns, scale =
// max|x| / 127, round to nearest even. One row at a time, so that the result does not depend on its company.
#include <cstring>

#include "hone/kernels.hpp"
#include "hone/vec_math.hpp"

namespace hone::HONE_SET {
namespace {

constexpr int kParts = kGroup / F::N;

void normalize(const float* x, const float* weight, int64_t cols, float eps, float* out) {
  F squares = zero();
  int64_t k = 0;
  for (; k + F::N <= cols; k += F::N) {
    const F v = load(x + k);
    squares = fma(v, v, squares);
  }
  if (k < cols) {
    const F v = load_some(x + k, int(cols - k));
    squares = fma(v, v, squares);
  }
  const F scale = set1(1.f / __builtin_sqrtf(sum(squares) / float(cols) + eps));
  for (k = 0; k + F::N <= cols; k += F::N) store(out + k, mul(mul(load(x + k), scale), load(weight + k)));
  if (k < cols) {
    const int n = int(cols - k);
    store_some(out + k, mul(mul(load_some(x + k, n), scale), load_some(weight + k, n)), n);
  }
}

// 32 values as group g, row t of a tile of T.
inline void quantize_group(const F (&v)[kParts], int T, int t, int64_t g, uint8_t* act) {
  F top_all = abs(v[0]);
  for (int i = 1; i < kParts; i++) top_all = max(top_all, abs(v[i]));
  float largest = top(top_all);
  if (!(largest >= 1e-30f)) largest = 1e-30f;
  const F inverse = set1(127.f / largest);
  uint8_t* p = act + g * kActGroupBytes * T;
  F rounded[kParts], total = zero();
  for (int i = 0; i < kParts; i++) {
    rounded[i] = round(mul(v[i], inverse));
    total = add(total, rounded[i]);
  }
  if (T == 1) {
    store_bytes((int8_t*)p, rounded);
  } else {
    alignas(32) int8_t bytes[kGroup];
    store_bytes(bytes, rounded);
#pragma GCC unroll 8
    for (int q = 0; q < 8; q++) std::memcpy(p + (q * T + t) * 4, bytes + 4 * q, 4);
  }
  const float scale = largest / 127.f, codes = sum(total);
  const int32_t start = -8 * int32_t(codes);
  const float scaled = scale * codes;
  std::memcpy(p + 32 * T + 4 * t, &scale, 4);
  std::memcpy(p + 36 * T + 4 * t, &start, 4);
  std::memcpy(p + 40 * T + 4 * t, &scaled, 4);
}

void act_quantize(const float* x, int64_t ldx, TileRows place, int64_t cols, const float* weight, float eps, uint8_t* act, float* tmp) {
  const int T = place.T;
  for (int t = place.first; t < place.first + place.count; t++, x += ldx) {
    const float* row = x;
    if (weight) {
      normalize(x, weight, cols, eps, tmp);
      row = tmp;
    }
    for (int64_t g = 0; g < cols / kGroup; g++) {
      F v[kParts];
      for (int i = 0; i < kParts; i++) v[i] = load(row + g * kGroup + i * F::N);
      quantize_group(v, T, t, g, act);
    }
  }
}

void act_float(const float* x, int64_t ldx, TileRows place, int64_t cols, const float* weight, float eps, uint8_t* act, float* tmp) {
  float* out = (float*)act;
  const int T = place.T;
  for (int t = place.first; t < place.first + place.count; t++, x += ldx) {
    const float* row = x;
    if (weight) {
      normalize(x, weight, cols, eps, T == 1 ? out : tmp);
      row = T == 1 ? out : tmp;
    }
    if (T == 1 && row != out) std::memcpy(out, row, size_t(cols) * 4);
    if (T > 1)
      for (int64_t k = 0; k < cols; k++) out[k * T + t] = row[k];
  }
}

inline void gate(const float* g, const float* u, F (&v)[kParts]) {
  for (int i = 0; i < kParts; i++) v[i] = mul(silu(load(g + i * F::N)), load(u + i * F::N));
}

void swiglu_quantize(const float* g, const float* u, int T, int64_t group, uint8_t* act) {
  for (int t = 0; t < T; t++) {
    F v[kParts];
    gate(g + t * kGroup, u + t * kGroup, v);
    quantize_group(v, T, t, group, act);
  }
}

void swiglu_float(const float* g, const float* u, int T, int64_t group, uint8_t* act) {
  float* out = (float*)act + group * kGroup * T;
  for (int t = 0; t < T; t++) {
    F v[kParts];
    gate(g + t * kGroup, u + t * kGroup, v);
    float row[kGroup];
    for (int i = 0; i < kParts; i++) store(row + i * F::N, v[i]);
    for (int k = 0; k < kGroup; k++) out[k * T + t] = row[k];
  }
}

void swiglu_row(const float* g, const float* u, int64_t cols, float* out) {
  int64_t k = 0;
  for (; k + F::N <= cols; k += F::N) store(out + k, mul(silu(load(g + k)), load(u + k)));
  if (k < cols) {
    const int n = int(cols - k);
    store_some(out + k, mul(silu(load_some(g + k, n)), load_some(u + k, n)), n);
  }
}

void add_row(const float* x, const float* y, int64_t cols, float* out) {
  int64_t k = 0;
  for (; k + F::N <= cols; k += F::N) store(out + k, add(load(x + k), load(y + k)));
  if (k < cols) {
    const int n = int(cols - k);
    store_some(out + k, add(load_some(x + k, n), load_some(y + k, n)), n);
  }
}

void rope_head(float* x, const float* cos, const float* sin, int64_t half) {
  int64_t k = 0;
  for (; k < half; k += F::N) {
    const int n = half - k < F::N ? int(half - k) : F::N;
    const F a = load_some(x + k, n), b = load_some(x + half + k, n), c = load_some(cos + k, n), s = load_some(sin + k, n);
    store_some(x + k, sub(mul(a, c), mul(b, s)), n);
    store_some(x + half + k, add(mul(b, c), mul(a, s)), n);
  }
}

void to_half(const float* x, int64_t n, uint16_t* out) {
  int64_t k = 0;
  for (; k + F::N <= n; k += F::N) store_half(out + k, load(x + k));
  if (k < n) {
    uint16_t part[F::N];
    store_half(part, load_some(x + k, int(n - k)));
    std::memcpy(out + k, part, size_t(n - k) * 2);
  }
}

}  // namespace
}  // namespace hone::HONE_SET

#define HONE_JOIN2(a, b) a##b
#define HONE_JOIN(a, b) HONE_JOIN2(a, b)
namespace hone {
const RowKernels HONE_JOIN(row_kernels_, HONE_SET) = {
    HONE_SET::act_quantize, HONE_SET::act_float, HONE_SET::swiglu_quantize, HONE_SET::swiglu_float, HONE_SET::normalize,
    HONE_SET::swiglu_row,   HONE_SET::add_row,   HONE_SET::rope_head,       HONE_SET::to_half};
}
