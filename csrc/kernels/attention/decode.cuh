// Attention of sequences with one query: keys and values stream once for all query heads that share them.
//
// Split. The keys of a sequence are cut into at most kMaxSplits parts of equal size, which follows from the position, the window and
// `split` alone: a row's bits do not depend on its company. A block takes every gridDim.z-th part of a (sequence, key head); partial
// results go through a workspace and the block that comes latest adds them in the order of the parts.
// Stream. Each of 4 warps takes every fourth chunk of 16 keys, with a ring of chunks of its own and its own running maximum; so nobody
// waits for another until the end of a part. Codes of 8 or 4 bits become 16-bit numbers in shared memory first.
// Products (mma.m16n8k16). Scores are K q^T: 16 keys by 8 heads; values V^T p^T: 16 dimensions by 8 heads, the weights p^T of 16 keys
// being the scores transposed in registers. So up to 8 heads cost no more than one.
#pragma once
#include "kernels/attention/parts.cuh"

namespace hone::cuda {

// What a warp has summed of heads 2q and 2q + 1 (q = lane % 4): running maximum, sum of its own lanes' weights, and values:
// numbers 0, 1 of acc[d] are dimension 16 d + lane / 4 of the two heads, 2, 3 dimension 16 d + 8 + lane / 4.
template <class T, int DIM>
struct Sums {
  static constexpr int bytes = kTokenBytes<DIM>;
  float top[2], weight[2], acc[DIM / 16][4];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int h = 0; h < 2; h++) top[h] = -INFINITY, weight[h] = 0.f;
#pragma unroll
    for (int d = 0; d < DIM / 16; d++) acc[d][0] = acc[d][1] = acc[d][2] = acc[d][3] = 0.f;
  }

  // Weights p^T of 16 keys from `key` on, of which those from `visible` to `end` - 1 count, relative to the new maximum.
  __device__ __forceinline__ void weigh(const uint8_t* chunk, const uint32_t (&q)[DIM / 16][2], const Score& score, int key, int visible, int end, int lane,
                                        uint32_t (&p)[2]) {
    float s[2][4] = {};  // two chains of products
    const uint8_t* keys = chunk + lane % 16 * bytes + lane / 16 * 16;
#pragma unroll
    for (int d = 0; d < DIM / 16; d++) {
      uint32_t a[4];
      load_matrices(a, keys + d * 32);
      mma<T>(s[d % 2], a, q[d][0], q[d][1]);
    }
    const int low = key + lane / 4, high = low + 8;
    const bool see_low = low >= visible && low < end, see_high = high >= visible && high < end;
    float w[4];
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const float a = see_low ? score(s[0][h] + s[1][h]) : -INFINITY, b = see_high ? score(s[0][2 + h] + s[1][2 + h]) : -INFINITY;
      const float now = max_over<4, 16>(fmaxf(top[h], fmaxf(a, b)));
      const float base = now == -INFINITY ? 0.f : now;
      const float keep = power_of_two((top[h] - base) * score.factor);
      w[h] = power_of_two((a - base) * score.factor), w[2 + h] = power_of_two((b - base) * score.factor);
      weight[h] = weight[h] * keep + w[h] + w[2 + h];
      top[h] = now;
#pragma unroll
      for (int d = 0; d < DIM / 16; d++) acc[d][h] *= keep, acc[d][2 + h] *= keep;
    }
    p[0] = transpose(pack_two<T>(w[0], w[1])), p[1] = transpose(pack_two<T>(w[2], w[3]));
  }

  // Their values.
  __device__ __forceinline__ void add(const uint8_t* chunk, const uint32_t (&p)[2], int lane) {
    const uint8_t* values = chunk + (lane % 8 + lane / 16 * 8) * bytes + lane / 8 % 2 * 16;
#pragma unroll
    for (int d = 0; d < DIM / 16; d++) {
      uint32_t a[4];
      load_transposed(a, values + d * 32);
      mma<T>(acc[d], a, p[0], p[1]);
    }
  }
};

template <class T, int BITS, int DIM>
__global__ void __launch_bounds__(kDecodeWarps * 32) attention_decode(const __grid_constant__ Decode d) {
  extern __shared__ __align__(128) uint8_t shared[];
  using Sixteen = Chunk<T, BITS, DIM>;
  constexpr int stage_bytes = Sixteen::stage_bytes, numbers = BITS == 16 ? 0 : Sixteen::unpacked_bytes;
  static_assert(kHeadsATile * (DIM + 4) * 4 <= Sixteen::unpacked_bytes);  // results lie in the place of numbers
  static_assert(kMaxSplits * 8 <= kDecodeWarps * (DIM + 4) * 4 && kHeadsATile * kMaxSplits * 8 <= Sixteen::unpacked_bytes);  // facts in that of both
  const Attention& p = d.call;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, seq = blockIdx.y;
  const int kv_head = blockIdx.x / d.head_tiles, tile = blockIdx.x % d.head_tiles;
  const int group = p.heads / p.cache.kv_heads, heads = min(kHeadsATile, group - tile * kHeadsATile), head = kv_head * group + tile * kHeadsATile;
  launch_dependents();
  wait_for_dependencies();
  const int row = p.first_rows[seq], rows = p.first_rows[seq + 1] - row, context = p.context_lens[seq];
  if (rows != 1) return;
  const Parts parts(context, p.window, p.split);
  if (int(blockIdx.z) >= parts.count) return;

  // A warp's ring, then its 16-bit numbers where it unpacks, in whose place its results lie at last.
  const int ring_bytes = d.stages * stage_bytes, own_bytes = ring_bytes + numbers;
  uint8_t *ring = shared + warp * own_bytes, *after = shared + kDecodeWarps * own_bytes;
  float* results = reinterpret_cast<float*>(BITS == 16 ? after : shared + ring_bytes);
  const int apart = BITS == 16 ? d.heads_a_tile * (DIM + 4) : own_bytes / 4;  // of two warps' results
  float* facts = reinterpret_cast<float*>(after + (BITS == 16 ? kDecodeWarps * apart * 4 : 0));
  const int* table = p.cache.table + int64_t(seq) * p.cache.table_stride;
  int slot = 0, next_part = blockIdx.z, next_key = parts.begin_of(next_part) + warp * kChunk;
  const auto fetch_next = [&] {
    while (next_part < parts.count && next_key >= parts.end_of(next_part)) {
      next_part += gridDim.z;
      next_key = parts.begin_of(next_part) + warp * kChunk;
    }
    if (next_part < parts.count) {
      Sixteen::fetch(p.cache, table, kv_head, next_key, parts.end, ring + slot * stage_bytes, lane);
      next_key += kRound;
    }
    copy_commit();
    if (++slot == d.stages) slot = 0;
  };
  for (int i = 0; i < d.stages; i++) fetch_next();

  uint32_t q[DIM / 16][2] = {};  // head lane / 4: dimensions 16 i + 2 (lane % 4) and the next, and the 8 after
  const uint32_t* from = reinterpret_cast<const uint32_t*>(static_cast<const T*>(p.q) + row * p.ldq + int64_t(head + lane / 4) * p.cache.head_dim);
#pragma unroll
  for (int i = 0; i < DIM / 16; i++)
    if (lane / 4 < heads && i * 16 < p.cache.head_dim) q[i][0] = from[i * 8 + lane % 4], q[i][1] = from[i * 8 + 4 + lane % 4];

  const Score score(p.scale, p.softcap);
  Sums<T, DIM> sums;
  for (int part = blockIdx.z; part < parts.count; part += gridDim.z) {
    sums.clear();
    for (int key = parts.begin_of(part) + warp * kChunk; key < parts.end_of(part); key += kRound) {
      copy_wait(d.stages - 1);
      __syncwarp();
      const uint8_t* chunk = ring + slot * stage_bytes;
      uint32_t weights[2];
      if constexpr (BITS == 16) {
        sums.weigh(chunk, q, score, key, parts.visible, parts.end, lane, weights);
        sums.add(chunk + Sixteen::unpacked_bytes, weights, lane);
        __syncwarp();
        fetch_next();
      } else {
        uint8_t* to = ring + ring_bytes;
        Sixteen::unpack(chunk, false, p.cache.head_dim, key, parts.end, to, lane);
        __syncwarp();
        sums.weigh(to, q, score, key, parts.visible, parts.end, lane, weights);
        __syncwarp();
        Sixteen::unpack(chunk, true, p.cache.head_dim, key, parts.end, to, lane);
        __syncwarp();
        fetch_next();
        sums.add(to, weights, lane);
      }
    }
    __syncwarp();
    float* mine = results + warp * apart;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int of = lane % 4 * 2 + h;
      const float weight = sum_over<4, 16>(sums.weight[h]);
      if (of < heads) {
#pragma unroll
        for (int i = 0; i < DIM / 16; i++) {
          mine[of * (DIM + 4) + i * 16 + lane / 4] = sums.acc[i][h];
          mine[of * (DIM + 4) + i * 16 + lane / 4 + 8] = sums.acc[i][2 + h];
        }
        if (lane < 4) facts[(warp * kHeadsATile + of) * 2] = sums.top[h], facts[(warp * kHeadsATile + of) * 2 + 1] = weight;
      }
    }
    __syncthreads();
    finish_part<T, BITS, DIM>(p, results, apart, facts, seq, row, head, heads, part, parts.count);
    __syncthreads();
  }
  if (parts.count > 1 && comes_latest(p.counters + seq * gridDim.x + blockIdx.x, min(int(gridDim.z), parts.count)))
    add_parts<T, BITS>(p, reinterpret_cast<float2*>(results), seq, row, head, heads, parts.count);
}

}  // namespace hone::cuda
