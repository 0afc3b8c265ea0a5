// Passes over a row of logits: argmax, maximum, exponentials. One source for all instruction sets.
#include "hone/kernels.hpp"
#include "hone/vec_math.hpp"

namespace hone::HONE_SET {
namespace {

float row_max(const float* x, int64_t n) {
  F m0 = set1(-3.4e38f), m1 = m0;
  int64_t i = 0;
  for (; i + 2 * F::N <= n; i += 2 * F::N) {
    m0 = max(m0, load(x + i));
    m1 = max(m1, load(x + i + F::N));
  }
  float m = top(max(m0, m1));
  for (; i < n; i++) m = x[i] > m ? x[i] : m;
  return m;
}

// The largest of each stretch of 1024 first, then one look for its place: a row of logits is read at load speed.
int32_t argmax(const float* x, int64_t n) {
  float best = -3.4e38f;
  int64_t from = 0;
  for (int64_t i = 0; i < n; i += 1024) {
    const float m = row_max(x + i, n - i < 1024 ? n - i : 1024);
    if (m > best) {
      best = m;
      from = i;
    }
  }
  for (int64_t i = from; i < n; i++)
    if (x[i] == best) return int32_t(i);
  return 0;
}

// Sums of 16 lanes in double every 256 values, whatever the set's width.
double exp_sum(const float* x, int64_t n, float largest, float scale, float* out) {
  double total = 0;
  alignas(64) float e[F::N];
  for (int64_t i = 0; i < n;) {
    const int64_t end = i + 256 < n ? i + 256 : n;
    F part = zero();
    for (; i + F::N <= end; i += F::N) {
      const F v = exp(mul(sub(load(x + i), set1(largest)), set1(scale)));
      if (out) store(out + i, v);
      part = add(part, v);
    }
    total += double(sum(part));
    if (i < end) {
      const int k = int(end - i);
      store(e, exp(mul(sub(load_some(x + i, k), set1(largest)), set1(scale))));
      for (int j = 0; j < k; j++) {
        if (out) out[i + j] = e[j];
        total += double(e[j]);
      }
      i = end;
    }
  }
  return total;
}

}  // namespace
}  // namespace hone::HONE_SET

#define HONE_JOIN2(a, b) a##b
#define HONE_JOIN(a, b) HONE_JOIN2(a, b)
namespace hone {
const SamplingKernels HONE_JOIN(sampling_kernels_, HONE_SET) = {HONE_SET::argmax, HONE_SET::row_max, HONE_SET::exp_sum};
}
