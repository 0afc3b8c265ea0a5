// Attention of some query vectors over one chunk of positions of a paged KV cache, and the merge of chunks.
//
// Layout: keys of 16 positions lie side by side, (head_dim, 16), so that a lane is a position and a score needs no
// horizontal sum; values are (position, head_dim), so that a lane is a column of the result.
// Work: a chunk is 128 positions aligned to 128. Its scores, maximum, exponentials and weighted values are computed for all
// query vectors that share the KV head: grouped heads when decoding, heads times a tile of tokens for a prompt (keys are
// widened to fp32 once a tile, never an n x n matrix). Chunks merge in order, whether one thread saw them all or many
// threads one each: so a row's result depends neither on the number of threads, nor on its company, nor on how a prompt
// was cut into steps.
#include <cstring>

#include "hone/kernels.hpp"
#include "hone/vec_math.hpp"

namespace hone::HONE_SET {
namespace {

constexpr float kNone = -3.0e38f;   // score of a position that is not seen

template <class T>
struct Stored;
template <>
struct Stored<uint16_t> {
  static F get(const uint16_t* p) { return load_half(p); }
};
template <>
struct Stored<float> {
  static F get(const float* p) { return load(p); }
};

// Positions whose widened keys are scored together: with 16 lanes two blocks, so that a broadcast of q serves two registers
// (one load a product would bind the load ports); with 8 lanes a block is two registers already.
constexpr int kWide = F::N == 16 ? 2 * kBlock : kBlock;

// scores[j][0..kWide) = sum over d of q[d][j] * block[d][0..kWide), for N query vectors.
template <int N>
inline void dot_block(const float* q, int ldq, const float* block, int head_dim, float* scores) {
  constexpr int V = kWide / F::N;
  F acc[N][V];
  for (auto& row : acc)
    for (auto& a : row) a = zero();
  for (int d = 0; d < head_dim; d++) {
    F k[V];
    for (int v = 0; v < V; v++) k[v] = load(block + d * kWide + v * F::N);
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
      const F s = set1(q[d * ldq + j]);
      for (int v = 0; v < V; v++) acc[j][v] = fma(k[v], s, acc[j][v]);
    }
  }
  for (int j = 0; j < N; j++)
    for (int v = 0; v < V; v++) store(scores + j * kChunk + v * F::N, acc[j][v]);
}

// The same straight from the cache, for so few query vectors that widening apart would not pay. Two blocks at a time where
// there are two: with three queries one chain each would wait for its own latency.
template <int N, int B, class T>
inline void dot_stored(const float* q, int ldq, const T* const (&blocks)[B], int head_dim, float* scores) {
  constexpr int V = kBlock / F::N;
  F acc[N][B * V];
  for (auto& row : acc)
    for (auto& a : row) a = zero();
  for (int d = 0; d < head_dim; d++) {
    F k[B * V];
    for (int b = 0; b < B; b++)
      for (int v = 0; v < V; v++) k[b * V + v] = Stored<T>::get(blocks[b] + d * kBlock + v * F::N);
    for (int j = 0; j < N; j++) {
      const F s = set1(q[d * ldq + j]);
      for (int v = 0; v < B * V; v++) acc[j][v] = fma(k[v], s, acc[j][v]);
    }
  }
  for (int j = 0; j < N; j++)
    for (int v = 0; v < B * V; v++) store(scores + j * kChunk + v * F::N, acc[j][v]);
}

template <int B, class T>
void score_few(const ChunkArgs& a, const T* const (&blocks)[B], float* scores) {
  switch (a.num) {
    case 4: return dot_stored<4>(a.q, a.num, blocks, a.kv.head_dim, scores);
    case 3: return dot_stored<3>(a.q, a.num, blocks, a.kv.head_dim, scores);
    case 2: return dot_stored<2>(a.q, a.num, blocks, a.kv.head_dim, scores);
    default: return dot_stored<1>(a.q, a.num, blocks, a.kv.head_dim, scores);
  }
}

void score_wide(const ChunkArgs& a, float* scores) {
  constexpr int step = F::N == 16 ? 8 : 6;
  int j = 0;
  for (; j + step <= a.num; j += step) dot_block<step>(a.q + j, a.num, a.block, a.kv.head_dim, scores + j * kChunk);
  for (; j + 3 <= a.num; j += 3) dot_block<3>(a.q + j, a.num, a.block, a.kv.head_dim, scores + j * kChunk);
  for (; j < a.num; j++) dot_block<1>(a.q + j, a.num, a.block, a.kv.head_dim, scores + j * kChunk);
}

template <class T>
const T* at(const uint8_t* base, const KvView& kv, int position, int64_t offset) {
  const int64_t page = kv.pages[position >> kv.page_shift];
  return (const T*)(base + page * kv.page_bytes + kv.head_offset) + offset;
}

constexpr int kAhead = 3 * kBlock;   // positions whose keys are asked for before they are needed

inline void ask(const void* p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch((const char*)p + i);
}

template <class T>
void score(const ChunkArgs& a, int blocks_end) {
  const int in_page = (1 << a.kv.page_shift) - 1, dim = a.kv.head_dim;
  const auto keys = [&](int p) { return at<T>(a.kv.keys, a.kv, p, int64_t(p & in_page) * dim); };
  if (a.num <= 4) {
    // Few queries stream the cache from memory, over pages too short for the hardware to foresee: ask ahead.
    const auto values = [&](int p) { return at<T>(a.kv.values, a.kv, p, int64_t(p & in_page) * dim); };
    const int64_t bytes = int64_t(kBlock) * dim * int64_t(sizeof(T));
    for (int p = a.begin; p < blocks_end && p < a.begin + kAhead && !a.asked; p += kBlock) ask(keys(p), bytes);
    for (int p = a.begin; p < blocks_end; p += 2 * kBlock) {
      for (int n = p; n < blocks_end && n < p + 2 * kBlock; n += kBlock) {
        if (n + kAhead < blocks_end) ask(keys(n + kAhead), bytes);
        ask(values(n), bytes);
      }
      float* scores = a.scores + (p - a.begin);
      if (p + kBlock < blocks_end) score_few<2, T>(a, {keys(p), keys(p + kBlock)}, scores);
      else score_few<1, T>(a, {keys(p)}, scores);
    }
    return;
  }
  for (int p = a.begin; p < blocks_end; p += kWide) {
    for (int b = 0; b < kWide; b += kBlock) {
      const T* from = keys(p + b < blocks_end ? p + b : p);   // past the end: any finite keys, never seen
      for (int d = 0; d < dim; d++)
        for (int i = 0; i < kBlock; i += F::N) store(a.block + d * kWide + b + i, Stored<T>::get(from + d * kBlock + i));
    }
    score_wide(a, a.scores + (p - a.begin));
  }
}

// Scores to 2^(score - max) with unseen positions at exactly 0. Masked only where some position is unseen.
template <bool Masked>
inline void soften(float* s, int begin, int end, int first, int last, float* max_out, float* sum_out) {
  const auto kept = [&](F v, float otherwise, int p) {
    if constexpr (Masked) return keep_range(v, set1(otherwise), begin + p, first, last);
    else return v;
  };
  F m = set1(kNone);
  for (int p = 0; p < end - begin; p += F::N) m = max(m, kept(load(s + p), kNone, p));
  const float largest = top(m);
  F total = zero();
  for (int p = 0; p < end - begin; p += F::N) {
    const F e = kept(exp2(sub(load(s + p), set1(largest))), 0.f, p);
    store(s + p, e);
    total = add(total, e);
  }
  *max_out = largest;
  *sum_out = sum(total);
}

// out[j][d0 .. d0 + V * N) over positions of one run of `count` that lie in one page; N query vectors.
template <int N, int V, class T>
inline void weigh(const float* scores, const T* values, int count, int head_dim, float* out, bool fresh) {
  F acc[N][V];
  for (int j = 0; j < N; j++)
    for (int v = 0; v < V; v++) acc[j][v] = fresh ? zero() : load(out + j * head_dim + v * F::N);
  for (int p = 0; p < count; p++) {
    F x[V];
    for (int v = 0; v < V; v++) x[v] = Stored<T>::get(values + int64_t(p) * head_dim + v * F::N);
#pragma GCC unroll 8
    for (int j = 0; j < N; j++) {
      const F s = set1(scores[j * kChunk + p]);
      for (int v = 0; v < V; v++) acc[j][v] = fma(x[v], s, acc[j][v]);
    }
  }
  for (int j = 0; j < N; j++)
    for (int v = 0; v < V; v++) store(out + j * head_dim + v * F::N, acc[j][v]);
}

template <int V, class T>
void weigh_all(const ChunkArgs& a, const float* scores, const T* values, int count, int d, bool fresh) {
  constexpr int step = F::N == 16 ? 6 : 3;
  const int dim = a.kv.head_dim;
  int j = 0;
  for (; j + step <= a.num; j += step) weigh<step, V>(scores + j * kChunk, values + d, count, dim, a.out + j * dim + d, fresh);
  for (; j + 3 <= a.num; j += 3) weigh<3, V>(scores + j * kChunk, values + d, count, dim, a.out + j * dim + d, fresh);
  for (; j < a.num; j++) weigh<1, V>(scores + j * kChunk, values + d, count, dim, a.out + j * dim + d, fresh);
}

template <class T>
void chunk(const ChunkArgs& a) {
  const int page_size = 1 << a.kv.page_shift, dim = a.kv.head_dim;
  const int blocks_end = (a.end + kBlock - 1) / kBlock * kBlock;
  score<T>(a, blocks_end);
  for (int j = 0; j < a.num; j++) {
    const bool all = a.first[j] <= a.begin && a.last[j] >= blocks_end - 1;
    (all ? soften<false> : soften<true>)(a.scores + j * kChunk, a.begin, blocks_end, a.first[j], a.last[j], a.max + j, a.sum + j);
  }
  for (int p = a.next; a.next >= 0 && p < a.next_end && p < a.next + kAhead; p += kBlock)
    ask((const char*)at<T>(a.kv.keys, a.kv, p, int64_t(p & (page_size - 1)) * dim) + a.next_head, int64_t(kBlock) * dim * int64_t(sizeof(T)));
  constexpr int wide = 4;
  for (int p = a.begin; p < a.end;) {
    const int in_page = p & (page_size - 1);
    const int count = a.end - p < page_size - in_page ? a.end - p : page_size - in_page;
    const T* values = at<T>(a.kv.values, a.kv, p, int64_t(in_page) * dim);
    int d = 0;
    for (; d + wide * F::N <= dim; d += wide * F::N) weigh_all<wide>(a, a.scores + (p - a.begin), values, count, d, p == a.begin);
    for (; d < dim; d += F::N) weigh_all<1>(a, a.scores + (p - a.begin), values, count, d, p == a.begin);
    p += count;
  }
}

void chunk_half(const ChunkArgs& a) { chunk<uint16_t>(a); }
void chunk_float(const ChunkArgs& a) { chunk<float>(a); }

void merge(float* run_max, float* run_sum, float* run_out, float chunk_max, float chunk_sum, const float* out, int dim) {
  const float largest = *run_max > chunk_max ? *run_max : chunk_max;
  const float keep = *run_sum > 0.f ? __builtin_exp2f(*run_max - largest) : 0.f;
  const float take = chunk_sum > 0.f ? __builtin_exp2f(chunk_max - largest) : 0.f;
  for (int d = 0; d < dim; d += F::N)
    store(run_out + d, fma(load(out + d), set1(take), *run_sum > 0.f ? mul(load(run_out + d), set1(keep)) : zero()));
  *run_sum = *run_sum * keep + chunk_sum * take;
  *run_max = largest;
}

}  // namespace
}  // namespace hone::HONE_SET

#define HONE_JOIN2(a, b) a##b
#define HONE_JOIN(a, b) HONE_JOIN2(a, b)
namespace hone {
const AttentionKernels HONE_JOIN(attention_kernels_, HONE_SET) = {HONE_SET::chunk_half, HONE_SET::chunk_float, HONE_SET::merge};
}
