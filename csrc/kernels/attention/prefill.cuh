// Attention of sequences with several queries: tiles of queries against tiles of keys with a running softmax (FlashAttention-2).
//
// A block takes a tile of queries of one head and walks the keys they may see, in tiles that begin at multiples of their size; so what a
// query's row sums, and in which order, follows from its position and the window alone, however the prompt was cut. Each of 4 warps has
// its own queries. The next tile comes while this one is multiplied. Sums are rescaled only when some maximum of the warp has grown:
// else by 1, which changes nothing. (With 64 keys a tile of 128 dimensions did not fit the registers.)
// Later tiles of a prompt see more keys: the longest come first.
#pragma once
#include "kernels/attention/chunk.cuh"
#include "kernels/attention/rotate.cuh"

namespace hone::cuda {

constexpr int kPrefillWarps = 4;

template <int DIM>
struct Tile {
  static constexpr int rows = DIM > 128 ? 1 : 2;                    // 16 queries each, of a warp
  static constexpr int queries = kPrefillWarps * rows * 16;
  static constexpr int keys = DIM > 64 ? 32 : 64;
  static constexpr int shared_bytes = (queries + 4 * keys) * kTokenBytes<DIM>;  // of 256 dimensions: just what sm_86 and sm_120 have
};

// The queries of a tile: rows first_row to first_row + count - 1, at positions from `position` on.
struct Queries {
  int seq = -1, first_row = 0, count = 0, position = 0;

  // Of all tiles, sequence by sequence, that numbered `index`; sequences of one row have none. All lanes call it.
  __device__ Queries(const Attention& p, int index, int tile, int lane) {
    for (int base = 0; base < p.seqs; base += 32) {
      const int mine = base + lane;
      const int rows = mine < p.seqs ? p.first_rows[mine + 1] - p.first_rows[mine] : 0, tiles = rows > 1 ? (rows + tile - 1) / tile : 0;
      int up_to = tiles;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, up_to, step);
        if (lane >= step) up_to += before;
      }
      const uint32_t after = __ballot_sync(0xffffffffu, index < up_to);
      if (after) {
        const int found = __ffs(int(after)) - 1, in_seq = index - __shfl_sync(0xffffffffu, up_to - tiles, found);
        seq = base + found;
        const int end_row = p.first_rows[seq + 1];
        first_row = p.first_rows[seq] + in_seq * tile;
        count = min(tile, end_row - first_row);
        position = p.context_lens[seq] - (end_row - first_row);
        return;
      }
      index -= __shfl_sync(0xffffffffu, up_to, 31);
    }
  }
};

template <class T, int DIM>
__device__ __forceinline__ void fetch_queries(const Attention& p, const Queries& queries, int head, uint8_t* to) {
  constexpr int pieces = DIM / 8;
  const T* from = static_cast<const T*>(p.q) + queries.first_row * p.ldq + int64_t(head) * p.cache.head_dim;
  for (int i = threadIdx.x; i < Tile<DIM>::queries * pieces; i += kPrefillWarps * 32) {
    const int row = i / pieces, piece = i % pieces;
    const bool valid = row < queries.count && piece * 8 < p.cache.head_dim;
    copy_16(to + row * kTokenBytes<DIM> + piece * 16, valid ? from + row * p.ldq + piece * 8 : from, valid);
  }
}

// A tile of keys from `key` on, then their values; zeros from `end` on.
template <class T, int DIM>
__device__ __forceinline__ void fetch_tile(const KVPages& cache, const int* table, int kv_head, int key, int end, uint8_t* to) {
  constexpr int pieces = DIM / 8;
#pragma unroll
  for (int i = 0; i < Tile<DIM>::keys * pieces / (kPrefillWarps * 32); i++) {
    const int at = threadIdx.x + i * kPrefillWarps * 32, token = at / pieces, piece = at % pieces;
    const bool valid = key + token < end && piece * 8 < cache.head_dim;
    const int64_t from = valid ? cache.at(table[(key + token) >> cache.page_shift], kv_head, key + token) + piece * 8 : 0;
    copy_16(to + token * kTokenBytes<DIM> + piece * 16, static_cast<const T*>(cache.keys) + from, valid);
    copy_16(to + (Tile<DIM>::keys + token) * kTokenBytes<DIM> + piece * 16, static_cast<const T*>(cache.values) + from, valid);
  }
}

// What a warp has summed of its queries: numbers 0, 1 of a 16x8 tile are row lane / 4, columns 2 (lane % 4) and the next; 2, 3 row + 8.
template <class T, int DIM>
struct Rows {
  static constexpr int rows = Tile<DIM>::rows, keys = Tile<DIM>::keys, bytes = kTokenBytes<DIM>;
  float top[rows][2], weight[rows][2], acc[rows][DIM / 8][4];
  float s[rows][keys / 8][4];

  __device__ Rows() {
#pragma unroll
    for (int r = 0; r < rows; r++) {
      top[r][0] = top[r][1] = -INFINITY, weight[r][0] = weight[r][1] = 0.f;
#pragma unroll
      for (int d = 0; d < DIM / 8; d++) acc[r][d][0] = acc[r][d][1] = acc[r][d][2] = acc[r][d][3] = 0.f;
    }
  }

  // s = q k^T of the warp's queries and the tile's keys.
  __device__ __forceinline__ void multiply_keys(const uint8_t* queries, const uint8_t* tile, int lane) {
    const uint8_t* q = queries + lane % 16 * bytes + lane / 16 * 16;
    const uint8_t* k = tile + (lane % 8 + lane / 16 * 8) * bytes + lane / 8 % 2 * 16;
#pragma unroll
    for (int r = 0; r < rows; r++)
#pragma unroll
      for (int n = 0; n < keys / 8; n++) s[r][n][0] = s[r][n][1] = s[r][n][2] = s[r][n][3] = 0.f;
#pragma unroll
    for (int d = 0; d < DIM / 16; d++) {
      uint32_t a[rows][4];
#pragma unroll
      for (int r = 0; r < rows; r++) load_matrices(a[r], q + r * 16 * bytes + d * 32);
#pragma unroll
      for (int n = 0; n < keys / 16; n++) {
        uint32_t b[4];
        load_matrices(b, k + n * 16 * bytes + d * 32);
#pragma unroll
        for (int r = 0; r < rows; r++) mma<T>(s[r][2 * n], a[r], b[0], b[1]), mma<T>(s[r][2 * n + 1], a[r], b[2], b[3]);
      }
    }
  }

  __device__ __forceinline__ void cap(const Score& score) {
#pragma unroll
    for (int r = 0; r < rows; r++)
#pragma unroll
      for (int n = 0; n < keys / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) s[r][n][i] = score(s[r][n][i]);
  }

  // Scores of keys from `key` on that the query at `position` (of the lane's first row) and the rows after it do not see: -infinity.
  __device__ __forceinline__ void hide(int key, int position, int window, int lane) {
#pragma unroll
    for (int r = 0; r < rows; r++)
#pragma unroll
      for (int n = 0; n < keys / 8; n++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
          const int at = key + n * 8 + lane % 4 * 2 + (i & 1), own = position + r * 16 + i / 2 * 8;
          if (at > own || (window > 0 && at <= own - window)) s[r][n][i] = -INFINITY;
        }
  }

  // Scores become weights relative to the new maximum; what was summed is made relative to it too.
  __device__ __forceinline__ void weigh(const Score& score) {
    float keep[rows][2];
    bool grown = false;
#pragma unroll
    for (int r = 0; r < rows; r++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        float now = top[r][h];
#pragma unroll
        for (int n = 0; n < keys / 8; n++) now = fmaxf(now, fmaxf(s[r][n][2 * h], s[r][n][2 * h + 1]));
        now = max_over<1, 2>(now);
        const float base = now == -INFINITY ? 0.f : now, offset = -base * score.factor;
        keep[r][h] = power_of_two((top[r][h] - base) * score.factor);  // exactly 1 where the maximum stays
        float sum = 0.f;
#pragma unroll
        for (int n = 0; n < keys / 8; n++)
#pragma unroll
          for (int i = 2 * h; i < 2 * h + 2; i++) {
            s[r][n][i] = power_of_two(fmaf(s[r][n][i], score.factor, offset));
            sum += s[r][n][i];
          }
        weight[r][h] = weight[r][h] * keep[r][h] + sum;
        top[r][h] = now;
        grown = grown || keep[r][h] != 1.f;
      }
    if (!__any_sync(0xffffffffu, grown)) return;
#pragma unroll
    for (int r = 0; r < rows; r++)
#pragma unroll
      for (int d = 0; d < DIM / 8; d++)
#pragma unroll
        for (int i = 0; i < 4; i++) acc[r][d][i] *= keep[r][i / 2];
  }

  // acc += weights v.
  __device__ __forceinline__ void multiply_values(const uint8_t* tile, int lane) {
    const uint8_t* v = tile + lane % 16 * bytes + lane / 16 * 16;
#pragma unroll
    for (int k = 0; k < keys / 16; k++) {
      uint32_t a[rows][4];
#pragma unroll
      for (int r = 0; r < rows; r++) {
        const auto& low = s[r][2 * k];
        const auto& high = s[r][2 * k + 1];
        a[r][0] = pack_two<T>(low[0], low[1]), a[r][1] = pack_two<T>(low[2], low[3]);
        a[r][2] = pack_two<T>(high[0], high[1]), a[r][3] = pack_two<T>(high[2], high[3]);
      }
#pragma unroll
      for (int d = 0; d < DIM / 16; d++) {
        uint32_t b[4];
        load_transposed(b, v + k * 16 * bytes + d * 32);
#pragma unroll
        for (int r = 0; r < rows; r++) mma<T>(acc[r][2 * d], a[r], b[0], b[1]), mma<T>(acc[r][2 * d + 1], a[r], b[2], b[3]);
      }
    }
  }

  // Write the `count` rows from `first_row` on that are the warp's.
  template <int BITS>
  __device__ __forceinline__ void write(const Attention& p, int first_row, int count, int head, int lane) {
    const int dims = p.cache.head_dim;
#pragma unroll
    for (int r = 0; r < rows; r++)
#pragma unroll
      for (int h = 0; h < 2; h++) {
        const float by = 1.f / sum_over<1, 2>(weight[r][h]);
        if constexpr (BITS < 16) rotate_row(acc[r], 2 * h, lane);
        const int row = r * 16 + h * 8 + lane / 4;
        T* out = static_cast<T*>(p.out) + (first_row + row) * p.ldo + int64_t(head) * dims + lane % 4 * 2;
#pragma unroll
        for (int d = 0; d < DIM / 8; d++)
          if (row < count && d * 8 < dims) *reinterpret_cast<uint32_t*>(out + d * 8) = pack_two<T>(acc[r][d][2 * h] * by, acc[r][d][2 * h + 1] * by);
      }
  }
};

// Codes of a tile start on their way, and become 16-bit numbers: a chunk of 16 tokens, its keys or its values, a warp at a time.
template <class T, int BITS, int DIM>
struct CodeTile {
  using Sixteen = Chunk<T, BITS, DIM>;
  static constexpr int chunks = Tile<DIM>::keys / kChunk;
  static_assert(chunks * Sixteen::stage_bytes <= 2 * Tile<DIM>::keys * kTokenBytes<DIM>);

  static __device__ __forceinline__ void fetch(const KVPages& cache, const int* table, int kv_head, int key, int end, uint8_t* to, int warp, int lane) {
    for (int c = warp; c < chunks; c += kPrefillWarps)
      if (key + c * kChunk < end) Sixteen::fetch(cache, table, kv_head, key + c * kChunk, end, to + c * Sixteen::stage_bytes, lane);
  }

  static __device__ __forceinline__ void unpack(const uint8_t* from, int head_dim, int key, int end, uint8_t* to, int warp, int lane) {
    for (int job = warp; job < 2 * chunks; job += kPrefillWarps) {
      const int c = job / 2, values = job % 2;
      Sixteen::unpack(from + c * Sixteen::stage_bytes, values, head_dim, key + c * kChunk, end,
                    to + (values * Tile<DIM>::keys + c * kChunk) * kTokenBytes<DIM>, lane);
    }
  }
};

template <class T, int BITS, int DIM>
__global__ void __launch_bounds__(kPrefillWarps * 32, 2) attention_prefill(const __grid_constant__ Attention p) {
  extern __shared__ __align__(128) uint8_t shared[];
  constexpr int tile = Tile<DIM>::queries, keys = Tile<DIM>::keys, bytes = kTokenBytes<DIM>, own_rows = Tile<DIM>::rows * 16;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, head = blockIdx.x, kv_head = head / (p.heads / p.cache.kv_heads);
  launch_dependents();
  wait_for_dependencies();
  const Queries queries(p, int(gridDim.y - 1 - blockIdx.y), tile, lane);
  if (queries.seq < 0) return;

  // Two stages of 16-bit numbers; or one, and in the place of the other the codes of the next.
  uint8_t *stage = shared + tile * bytes, *codes = stage + 2 * keys * bytes;
  const int* table = p.cache.table + int64_t(queries.seq) * p.cache.table_stride;
  const int own = warp * own_rows, end = queries.position + queries.count, first_seen = p.window > 0 ? max(0, queries.position + 1 - p.window) : 0;
  const auto fetch = [&](int key, uint8_t* to) {
    if constexpr (BITS == 16)
      fetch_tile<T, DIM>(p.cache, table, kv_head, key, end, to);
    else
      CodeTile<T, BITS, DIM>::fetch(p.cache, table, kv_head, key, end, codes, warp, lane);
  };
  const bool busy = own < queries.count;
  const Score score(p.scale, p.softcap);
  Rows<T, DIM> sums;
  int key = first_seen / keys * keys, stage_at = 0;
  fetch_queries<T, DIM>(p, queries, head, shared);
  fetch(key, stage);
  copy_commit();
  for (; key < end; key += keys) {
    copy_wait(0);
    __syncthreads();
    const uint8_t* now = stage + stage_at;
    if constexpr (BITS == 16) {
      stage_at = 2 * keys * bytes - stage_at;
    } else {
      CodeTile<T, BITS, DIM>::unpack(codes, p.cache.head_dim, key, end, stage, warp, lane);
      __syncthreads();
    }
    if (key + keys < end) fetch(key + keys, stage + stage_at);
    copy_commit();
    if (!busy) continue;
    sums.multiply_keys(shared + own * bytes, now, lane);
    if (p.softcap > 0.f) sums.cap(score);
    // All queries of the tile see the keys from its latest query's window to its first query's position.
    if (key + keys - 1 > queries.position || (p.window > 0 && key <= end - 1 - p.window)) sums.hide(key, queries.position + own + lane / 4, p.window, lane);
    sums.weigh(score);
    sums.multiply_values(now + keys * bytes, lane);
  }
  if (busy) sums.template write<BITS>(p, queries.first_row + own, queries.count - own, head, lane);
}

}  // namespace hone::cuda
