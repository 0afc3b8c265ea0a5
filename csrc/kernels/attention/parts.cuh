// Parts of the keys of a sequence with one query: where they lie, how their results are added and written.
#pragma once
#include "kernels/attention/chunk.cuh"
#include "kernels/attention/rotate.cuh"

namespace hone::cuda {

constexpr int kDecodeWarps = 4, kRound = kChunk * kDecodeWarps;

struct Decode {
  Attention call;
  int stages, head_tiles, heads_a_tile;
};

// Where the parts of a context lie.
struct Parts {
  int visible, first, end, size, count;  // the first key that counts; that rounded down; tokens; tokens of a part; parts

  __device__ Parts(int context, int window, int split) {
    visible = window > 0 && context > window ? context - window : 0;
    first = visible & ~(kRound - 1), end = context;
    const int tokens = end - first, most = split * kMaxSplits;
    size = split * max(1, (tokens + most - 1) / most);
    count = (tokens + size - 1) / size;
  }
  __device__ __forceinline__ int begin_of(int part) const { return first + part * size; }
  __device__ __forceinline__ int end_of(int part) const { return min(end, first + (part + 1) * size); }
};

// Bytes of what the warps leave for one another: results (warp, head, DIM + 4), at fewer than 16 bits in the place of numbers, and
// maximum and sum (warp, 8 heads).
template <int BITS, int DIM>
constexpr int meeting_bytes(int heads) {
  return kDecodeWarps * ((BITS == 16 ? heads * (DIM + 4) : 0) + kHeadsATile * 2) * 4;
}

// Write a head's four numbers from `dim` on; at fewer than 16 bits rotated back, which 8 neighboring lanes do together.
template <class T, int BITS>
__device__ __forceinline__ void write_four(const Attention& p, int row, int head, int dim, float4 v, float weight) {
  const float by = 1.f / weight;
  if constexpr (BITS < 16) v = rotate_four(v, threadIdx.x % 32);
  T* out = static_cast<T*>(p.out) + row * p.ldo + int64_t(head) * p.cache.head_dim + dim;
  *reinterpret_cast<uint2*>(out) = {pack_two<T>(v.x * by, v.y * by), pack_two<T>(v.z * by, v.w * by)};
}

// Where the partial results of a head lie: values [part][head_dim], maximum and sum [part][2].
struct Partial {
  float *values, *facts;
  __device__ Partial(const Attention& p, int seq, int head) {
    const int64_t at = (int64_t(seq) * p.heads + head) * kMaxSplits;
    values = p.partials + at * p.cache.head_dim;
    facts = p.partials + int64_t(p.seqs) * p.heads * kMaxSplits * p.cache.head_dim + at * 2;
  }
};

__device__ __forceinline__ void add_four(float4& to, float by, const float4& v) {
  to.x = fmaf(by, v.x, to.x), to.y = fmaf(by, v.y, to.y), to.z = fmaf(by, v.z, to.z), to.w = fmaf(by, v.w, to.w);
}

// Add what the warps left, `apart` floats from one another, and write it: to `out` if there is one part, else to the workspace.
template <class T, int BITS, int DIM>
__device__ __forceinline__ void finish_part(const Attention& p, const float* results, int apart, const float* facts, int seq, int row, int head, int heads, int part, int parts) {
  const Score score(p.scale, p.softcap);
  const int fours = p.cache.head_dim / 4;
  for (int i = threadIdx.x; i < heads * fours; i += kDecodeWarps * 32) {
    const int h = i / fours, dim = i % fours * 4;
    float top = -INFINITY, weight = 0.f;
    for (int w = 0; w < kDecodeWarps; w++) top = fmaxf(top, facts[(w * kHeadsATile + h) * 2]);
    float4 sum = {0.f, 0.f, 0.f, 0.f};
    for (int w = 0; w < kDecodeWarps; w++) {
      const float by = power_of_two((facts[(w * kHeadsATile + h) * 2] - top) * score.factor);
      weight = fmaf(by, facts[(w * kHeadsATile + h) * 2 + 1], weight);
      add_four(sum, by, *reinterpret_cast<const float4*>(results + w * apart + h * (DIM + 4) + dim));
    }
    if (parts == 1) {
      write_four<T, BITS>(p, row, head + h, dim, sum, weight);
      continue;
    }
    const Partial to(p, seq, head + h);
    __stcg(reinterpret_cast<float4*>(to.values + part * p.cache.head_dim + dim), sum);
    if (dim == 0) __stcg(reinterpret_cast<float2*>(to.facts + part * 2), float2{top, weight});
  }
}

// Add the partial results of all parts, in their order. `facts`: shared memory for kMaxSplits a head, so that all arrive at once.
template <class T, int BITS>
__device__ __forceinline__ void add_parts(const Attention& p, float2* facts, int seq, int row, int head, int heads, int parts) {
  const Score score(p.scale, p.softcap);
  for (int i = threadIdx.x; i < heads * parts; i += kDecodeWarps * 32) {
    const int h = i / parts, s = i % parts;
    facts[h * kMaxSplits + s] = __ldcg(reinterpret_cast<const float2*>(Partial(p, seq, head + h).facts + s * 2));
  }
  __syncthreads();
  const int fours = p.cache.head_dim / 4;
  for (int i = threadIdx.x; i < heads * fours; i += kDecodeWarps * 32) {
    const int h = i / fours, dim = i % fours * 4;
    const float2* mine = facts + h * kMaxSplits;
    const float* values = Partial(p, seq, head + h).values + dim;
    float top = -INFINITY, weight = 0.f;
    for (int s = 0; s < parts; s++) top = fmaxf(top, mine[s].x);
    float4 sum = {0.f, 0.f, 0.f, 0.f};
#pragma unroll 8
    for (int s = 0; s < parts; s++) {
      const float4 v = __ldcg(reinterpret_cast<const float4*>(values + s * p.cache.head_dim));
      const float by = power_of_two((mine[s].x - top) * score.factor);
      weight = fmaf(by, mine[s].y, weight);
      add_four(sum, by, v);
    }
    write_four<T, BITS>(p, row, head + h, dim, sum, weight);
  }
}

// True in the one block that comes latest of `count`; it sees what all threads of the others wrote.
__device__ __forceinline__ bool comes_latest(int* counter, int count) {
  __shared__ bool latest;
  __syncthreads();
  if (threadIdx.x == 0) {
    latest = count_up(counter) == count - 1;
    if (latest) *counter = 0;
  }
  __syncthreads();
  return latest;
}

}  // namespace hone::cuda
