// y = x W^T for 9 to 64 activation rows on Hopper, 4-bit weights or a pair of widths (4 bits beside 8, symmetric, groups of 128): each weight
// is unpacked once, in registers, and multiplied with all rows by wgmma. While a batch of 4 products runs, the next is unpacked into other
// registers and activations are stored.
//
// Split. As in many_rows.cuh: pieces of one band (128 weight rows) by 128 columns, an equal run of them for each block; sums of a band
// that several blocks share are added by the latest, in the order of blocks: the same bits every time. In a block each of 8 warps has
// one unit of the band and all of the columns, so nothing meets in shared memory and partial sums travel as they lie in registers.
// Activations. The operand in shared memory must lie in the order in which a lane's words hold columns (tile.cuh: lane t has 8t to
// 8t + 7 of 32, product j the pairs 4j and 4j + 2): in each 64 bytes word m of piece t goes to piece m as word t. They pass through
// registers, loaded a piece ahead and stored while products run. A warp stores 8 rows at a time: with the swizzle no two words meet
// in a bank.
// Exactness. Codes are taken as exact fp16 or bf16 numbers, summed over a group in fp32; the scale is applied to that sum. Minimums
// times sums of activations, which are taken when activations pass.
// Weights. Lanes copy what they unpack themselves (lane_ring.cuh). A bulk copy for each tile, with its barrier, costs a warp some 60
// instructions: 4096x14336 on an H200 at 16 / 32 / 64 rows, us: 21.4 / 23.5 / 29.4 with bulk copies, 18.1 / 20.5 / 26.8 without.
// Blocks. Two of them share a multiprocessor up to 32 rows: 15.0 / 17.8; at 64 rows, where registers would be spilled, 33.2.
#pragma once
#include <type_traits>

#include "hone/warpgroup.cuh"
#include "kernels/linear/lane_ring.cuh"
#include "kernels/linear/launch.cuh"
#include "kernels/linear/wgmma.hpp"

namespace hone::cuda {

constexpr int kWgmmaThreads = kBandUnits * 32, kSwizzleBytes = 1024, kMostTiles = 512;

// Bytes of one slot of activations: two halves of 64 columns, each rows of 128 bytes; then the sums of each 32 columns.
template <int ROWS>
constexpr int kSlotBytes = ROWS * kTileCols * 2;
template <int ROWS>
constexpr int kSlotSums = 4 * ROWS;

// Bytes of a 4-bit tile, and of an 8-bit one of a pair.
template <int GROUP, bool MIN>
constexpr int kLaneTile = kUnitRows * kTileCols / 2 + kTileCols / GROUP * kUnitRows * 2 * (MIN ? 2 : 1);
constexpr int kWideTile = kUnitRows * kTileCols + kUnitRows * 2;

// How many blocks share a multiprocessor, by rows; 64 rows leave no registers for two.
template <int ROWS>
constexpr int kWgmmaBlocks = ROWS == 64 ? 1 : 2;
constexpr int kLaneStages = 3;

template <class T>
__device__ __forceinline__ float sum_of_eight(const uint4& v) {
  const T* x = reinterpret_cast<const T*>(&v);
  float total = 0.f;
#pragma unroll
  for (int i = 0; i < 8; i++) total += float(x[i]);
  return total;
}

// This thread's share of the activations of one piece: the same 16 bytes of a row in every second block of 8 rows.
template <class T, int ROWS, bool MIN>
struct Activations {
  static constexpr int count = ROWS / 16;
  uint4 held[count];
  const T* x;
  int from[count];
  int cols, col, offset, sum_at;

  // Rows that are not there are read as row 0: what comes of them is not written.
  __device__ __forceinline__ explicit Activations(const ManyRows& p) : x(static_cast<const T*>(p.x)), cols(p.cols) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, quarter = warp % 4, row = lane / 4, t = lane % 4, first_row = warp / 4 * 8 + row;
    col = quarter * 32 + t * 8;
#pragma unroll
    for (int k = 0; k < count; k++) from[k] = (first_row + 16 * k < p.rows ? first_row + 16 * k : 0) * p.ldx + col;
    offset = quarter / 2 * (ROWS * 128) + first_row * 128 + ((quarter % 2 * 4) ^ row) * 16 + t * 4;
    sum_at = quarter * ROWS + first_row;
    // Kept, not computed anew for each piece: instructions are what is scarce.
#pragma unroll
    for (int k = 0; k < count; k++) warpgroup::keep(from[k]);
    warpgroup::keep(offset);
  }

  __device__ __forceinline__ void load(int at) {
    const bool valid = at * kTileCols + col < cols;
#pragma unroll
    for (int k = 0; k < count; k++) held[k] = valid ? warpgroup::load_16(x + from[k] + at * kTileCols) : uint4{};
  }

  __device__ __forceinline__ void store(uint8_t* slot, float* sums) const {
#pragma unroll
    for (int k = 0; k < count; k++) {
      const uint32_t words[4] = {held[k].x, held[k].y, held[k].z, held[k].w};
#pragma unroll
      for (int m = 0; m < 4; m++) *reinterpret_cast<uint32_t*>(slot + (offset ^ m * 16) + k * 16 * 128) = words[m];
      if (MIN) {
        float total = sum_of_eight<T>(held[k]);
        total += __shfl_xor_sync(~0u, total, 1);
        total += __shfl_xor_sync(~0u, total, 2);
        if (threadIdx.x % 4 == 0) sums[sum_at + 16 * k] = total;
      }
    }
  }
};

// acc += scale * c, + min * sum of activations. of_tile: its scales and minimums; sums: [4 quarters][ROWS] of this piece.
template <int GROUP, int ROWS, bool MIN>
__device__ __forceinline__ void apply_group(float (&acc)[ROWS / 2], const float (&c)[ROWS / 2], const uint8_t* of_tile, const float* sums, int group, int lane) {
  const __half* scales = reinterpret_cast<const __half*>(of_tile) + group * kUnitRows + lane / 4;
  const float low = __half2float(scales[0]), high = __half2float(scales[8]);
#pragma unroll
  for (int i = 0; i < ROWS / 2; i++) acc[i] = fmaf(i % 4 < 2 ? low : high, c[i], acc[i]);
  if (!MIN) return;
  const __half* mins = scales + kTileCols / GROUP * kUnitRows;
  const float min_low = __half2float(mins[0]), min_high = __half2float(mins[8]);
#pragma unroll
  for (int b = 0; b < ROWS / 8; b++) {
    float2 sum{};
#pragma unroll
    for (int quarter = 0; quarter < GROUP / 32; quarter++) {
      const float2 v = *reinterpret_cast<const float2*>(sums + (group * (GROUP / 32) + quarter) * ROWS + b * 8 + lane % 4 * 2);
      sum.x += v.x, sum.y += v.y;
    }
    acc[4 * b] = fmaf(min_low, sum.x, acc[4 * b]), acc[4 * b + 1] = fmaf(min_low, sum.y, acc[4 * b + 1]);
    acc[4 * b + 2] = fmaf(min_high, sum.x, acc[4 * b + 2]), acc[4 * b + 3] = fmaf(min_high, sum.y, acc[4 * b + 3]);
  }
}

// A warp's unit of the band to y. Lanes of adjacent outputs swap, so that each stores two of one row.
template <class T, int ROWS>
__device__ __forceinline__ void write_unit(const ManyRows& p, const float (&acc)[ROWS / 2], int unit, int lane) {
  const int out = unit * kUnitRows + lane / 4, odd = lane / 4 % 2;
  const bool pairs = !p.wide_out && p.outs % 2 == 0;
#pragma unroll
  for (int i = 0; i < ROWS / 2; i += 2) {
    const int row = i / 4 * 8 + lane % 4 * 2, at = out + i % 4 / 2 * 8;
    const float other = __shfl_xor_sync(~0u, odd ? acc[i] : acc[i + 1], 4);
    if (pairs) {
      const T two[2] = {round_to<T>(odd ? other : acc[i]), round_to<T>(odd ? acc[i + 1] : other)};
      if (row + odd < p.rows && at < p.outs)
        *reinterpret_cast<uint32_t*>(static_cast<T*>(p.y) + int64_t(row + odd) * p.outs + at - odd) = *reinterpret_cast<const uint32_t*>(two);
    } else if (at < p.outs) {
      if (row < p.rows) write_one<T>(p.y, int64_t(row) * p.outs + at, acc[i], p.wide_out);
      if (row + 1 < p.rows) write_one<T>(p.y, int64_t(row + 1) * p.outs + at, acc[i + 1], p.wide_out);
    }
  }
}

// Pieces of all bands over blocks: the first p.longer_blocks have one more than p.least_pieces. Divided by the launcher: a division is a
// tenth of a microsecond in which a block does nothing else.
__device__ __forceinline__ int first_of(const ManyRows& p, int block) { return block * p.least_pieces + min(block, p.longer_blocks); }

__device__ __forceinline__ int owner_of(const ManyRows& p, int piece) {
  const int behind = piece - p.longer_blocks * (p.least_pieces + 1);
  return behind < 0 ? piece / (p.least_pieces + 1) : p.longer_blocks + behind / p.least_pieces;
}

inline void divide(ManyRows& p, int blocks) {
  const int pieces = p.bands * p.pieces_a_band;
  p.least_pieces = pieces / blocks, p.longer_blocks = pieces % blocks;
}

// The end of a block's part of a band, which it `began` and `ended` or not: to y if it has all of it, else to the workspace; the latest
// block adds all parts.
template <class T, int ROWS>
__device__ __forceinline__ void end_band(const ManyRows& p, float (&acc)[ROWS / 2], int band, bool began, bool ended) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (!began || !ended) {
    const int piece = band * p.pieces_a_band, first = owner_of(p, piece), last = owner_of(p, piece + p.pieces_a_band - 1);
    const bool begins = first_of(p, first) == piece;
    // A block has two places in the workspace: one for the band it begins in, as all do but perhaps the first, one for the band it ends in.
    const auto place = [&](int block) {
      return reinterpret_cast<float4*>(p.partials + (int64_t(block) * 2 + (block == first && !begins)) * kBandRows * ROWS) + threadIdx.x;
    };
    float4* mine = place(blockIdx.x);
#pragma unroll
    for (int i = 0; i < ROWS / 8; i++) __stcg(mine + i * kWgmmaThreads, float4{acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]});
    if (!is_latest(p.counters + band, last - first + 1)) return;
#pragma unroll
    for (int i = 0; i < ROWS / 2; i++) acc[i] = 0.f;
    for (int block = first; block <= last; block++) {
      const float4* theirs = place(block);
#pragma unroll
      for (int i = 0; i < ROWS / 8; i++) {
        const float4 v = __ldcg(theirs + i * kWgmmaThreads);
        acc[4 * i] += v.x, acc[4 * i + 1] += v.y, acc[4 * i + 2] += v.z, acc[4 * i + 3] += v.w;
      }
    }
  }
  write_unit<T, ROWS>(p, acc, band * kBandUnits + warp, lane);
}

// Tiles of a mixed matrix: where in a unit each begins, its width, log2 of its group, the tile where its run ends.
struct TileTable {
  struct Entry {
    int begin, form;
    __device__ __forceinline__ int bits() const { return form & 15; }
    __device__ __forceinline__ int shift() const { return form >> 4 & 15; }
    __device__ __forceinline__ int end() const { return form >> 8; }
  };
  Entry entries[kMostTiles + 1];

  // `count` tiles and the place behind the last. All threads call it; a barrier must follow.
  __device__ __forceinline__ void fill(const Runs& runs, int count) {
    for (int i = threadIdx.x; i <= count; i += blockDim.x) {
      const Run* run = &run_of(runs, i);
      const int end = run == runs.run + runs.count - 1 ? count : run[1].first_tile;
      entries[i] = {run->first_byte + (i - run->first_tile) * run->tile_bytes, run->bits | (run->group == 128 ? 7 : run->group == 64 ? 6 : 5) << 4 | end << 8};
    }
  }
};

#if HONE_WARPGROUP
// The stage after the oldest, once it is there.
__device__ __forceinline__ const uint8_t* stage_after(const WarpRing& ring) {
  const bool wraps = ring.tail + 1 == ring.stages;
  const int stage = wraps ? 0 : ring.tail + 1;
  barrier_wait(ring.barriers + stage, wraps ? ring.phase ^ 1 : ring.phase);
  return ring.data + stage * ring.stage_bytes;
}
#endif

#if HONE_WARPGROUP
// Operands of BATCH products of 16 columns (4: a half of a tile, 2: a quarter).
template <class T, int BITS, int BATCH>
__device__ __forceinline__ void unpack_some(const uint8_t* tile, int index, uint32_t (&a)[BATCH][4], int lane, float zero) {
  using C = Codes<T, BITS>;
  const int quarter_0 = index * BATCH / 2;
  uint32_t four[BATCH] = {};
  if constexpr (BITS >= 4 && BITS != 8) {
    const uint8_t* from = tile + (quarter_0 / 2 * 32 + lane) * 16 + quarter_0 % 2 * 8;
    if constexpr (BATCH == 4) {
      const uint4 v = *reinterpret_cast<const uint4*>(from);
      four[0] = v.x, four[1] = v.y, four[2] = v.z, four[3] = v.w;
    } else {
      const uint2 v = *reinterpret_cast<const uint2*>(from);
      four[0] = v.x, four[1] = v.y;
    }
  }
  uint32_t of_one = 0;
  if constexpr (BITS == 3 || BITS == 5) of_one = *reinterpret_cast<const uint32_t*>(tile + Planes<BITS>::one_at + quarter_0 / 2 * 128 + lane * 4);
#pragma unroll
  for (int q = 0; q < BATCH / 2; q++) {
    const int quarter = quarter_0 + q;
    uint32_t of_two = 0;
    if constexpr (BITS == 2 || BITS == 3 || BITS == 6)
      of_two = *reinterpret_cast<const uint32_t*>(tile + Planes<BITS>::two_at + quarter * 128 + lane * 4);
    if constexpr (BITS == 8) {
      const uint4 v = reinterpret_cast<const uint4*>(tile)[quarter * 32 + lane];
      const uint32_t words[4] = {v.x, v.y, v.z, v.w};
      C::unpack(words, a[2 * q]);
      C::unpack(words + 2, a[2 * q + 1]);
    } else {
#pragma unroll
      for (int j = 0; j < 2; j++) {
        if constexpr (BITS == 4)
          C::unpack(four + 2 * q + j, a[2 * q + j]);
        else
          C::unpack(four[2 * q + j], of_two, of_one, j, BATCH == 4 ? q : quarter % 2, a[2 * q + j]);
      }
    }
  }
#pragma unroll
  for (int s = 0; s < BATCH; s++) C::make_exact(a[s], zero);
}

// acc += the product of a mixed matrix's tile, whose groups are of 2^shift columns (GROUP: 128, or 32 for 32 and 64). `meanwhile` runs beside
// the last products.
template <class T, int BITS, int GROUP, int ROWS, class Meanwhile>
__device__ __forceinline__ void multiply_tile(const uint8_t* tile, uint64_t activations, float (&acc)[ROWS / 2], int shift, int lane, const Meanwhile& meanwhile) {
  constexpr int steps = GROUP / 16, batch = GROUP == 32 ? 2 : 4, batches = 8 / batch, chains = 2;
  constexpr float zero = 1 << (BITS - 1);
  const __half* scales = reinterpret_cast<const __half*>(tile + kUnitRows * kTileCols * BITS / 8) + lane / 4;
  uint32_t a[2][batch][4];
  float c[chains][ROWS / 2];  // in turn: a product that adds to the one before waits for it
  unpack_some<T, BITS, batch>(tile, 0, a[0], lane, zero);
#pragma unroll
  for (int b = 0; b < batches; b++) {
    warpgroup::pin(a[b % 2]);
    warpgroup::pin(c[0]);
    warpgroup::pin(c[1]);
    warpgroup::fence();
#pragma unroll
    for (int s = 0; s < batch; s++) {
      const int step = b * batch + s;
      warpgroup::Product<T>::run(c[s % chains], a[b % 2][s], activations + step / 4 * (ROWS * 128 >> 4) + step % 4 * 2, step % steps >= chains);
    }
    warpgroup::commit();
    if (b + 1 < batches)
      unpack_some<T, BITS, batch>(tile, b + 1, a[(b + 1) % 2], lane, zero);
    else
      meanwhile();
    if ((b + 1) * batch % steps == 0) {
      const int group = GROUP == kTileCols ? 0 : b * 32 >> shift;
      const float low = __half2float(scales[group * kUnitRows]), high = __half2float(scales[group * kUnitRows + 8]);
      warpgroup::wait<0>();
      warpgroup::pin(c[0]);
      warpgroup::pin(c[1]);
#pragma unroll
      for (int i = 0; i < ROWS / 2; i++) acc[i] = fmaf(i % 4 < 2 ? low : high, c[0][i] + c[1][i], acc[i]);
    }
  }
}

// The same of a tile of 4 bits or, where it may be `wide`, of 8.
template <class T, int BATCH, bool MIN, bool PAIR>
__device__ __forceinline__ void unpack_batch(const uint8_t* tile, bool wide, int index, uint32_t (&a)[BATCH][4], int lane) {
  if (PAIR && wide)
    unpack_some<T, 8, BATCH>(tile, index, a, lane, 128.f);
  else
    unpack_some<T, 4, BATCH>(tile, index, a, lane, MIN ? 0.f : 8.f);
}
#endif

// PAIR: the first p.wide_tiles tiles of each unit are of 8 bits. Both widths take as many instructions, so blocks are balanced by tiles.
template <class T, int GROUP, int ROWS, bool MIN, bool PAIR>
__global__ void __launch_bounds__(kWgmmaThreads, kWgmmaBlocks<ROWS>) linear_wgmma(const __grid_constant__ ManyRows p) {
#if HONE_WARPGROUP
  extern __shared__ __align__(128) uint8_t shared[];
  constexpr int steps = GROUP / 16, batch = steps < 4 ? steps : 4, batches = 8 / batch;
  constexpr int narrow = kLaneTile<GROUP, MIN>, stage = PAIR ? kWideTile : narrow;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int begin = first_of(p, blockIdx.x), end = first_of(p, blockIdx.x + 1);
  uint8_t* slots = shared + (-shared_address(shared) & (kSwizzleBytes - 1));
  float* sums = reinterpret_cast<float*>(slots + 2 * kSlotBytes<ROWS>);
  uint8_t* rings = reinterpret_cast<uint8_t*>(sums + (MIN ? 2 * kSlotSums<ROWS> : 0));
  LaneRing<kLaneStages, stage> ring(rings + warp * kLaneStages * stage, lane);

  const int band_0 = begin / p.pieces_a_band, at_0 = begin - band_0 * p.pieces_a_band;
  const auto is_wide = [&](int tile) { return PAIR && tile < p.wide_tiles; };
  const auto offset = [&](int tile) { return tile * narrow + (PAIR ? min(tile, p.wide_tiles) * (kWideTile - narrow) : 0); };
  const int64_t unit_bytes = offset(p.tiles_a_unit);
  const uint8_t* next = p.tiles + (int64_t(band_0) * kBandUnits + warp) * unit_bytes + offset(at_0) + lane * 16;
  int fetched = begin, fetch_at = at_0;
  const auto fetch_weights = [&] {
    if (fetched++ < end) {
      if (is_wide(fetch_at))
        ring.template fetch<kUnitRows * kTileCols, kWideTile>(next), next += kWideTile;
      else
        ring.template fetch<kUnitRows * kTileCols / 2, narrow>(next), next += narrow;
      if (++fetch_at == p.pieces_a_band) fetch_at = 0, next += (kBandUnits - 1) * unit_bytes;
    }
    ring.pass();
  };
  launch_dependents();
  for (int i = 0; i < kLaneStages; i++) fetch_weights();
  wait_for_dependencies();

  Activations<T, ROWS, MIN> x(p);
  int load_at = at_0;
  const auto load_x = [&] {
    x.load(load_at);
    if (++load_at == p.pieces_a_band) load_at = 0;
  };
  load_x();
  x.store(slots, sums);
  warpgroup::fence_shared();
  load_x();

  const uint8_t* tile = ring.wait(kLaneStages - 1);
  bool wide = is_wide(at_0);
  uint32_t a[2][batch][4];  // the batch in flight, and the one that is unpacked meanwhile
  unpack_batch<T, batch, MIN, PAIR>(tile, wide, 0, a[0], lane);
  float acc[ROWS / 2] = {}, c[ROWS / 2];
  int at = at_0, slot = 0, band = band_0;
  for (int piece = begin; piece < end; piece++, slot ^= 1) {
    __syncthreads();  // this piece's activations are stored, the products that read the other slot are done
    const uint64_t activations = warpgroup::descriptor(slots + slot * kSlotBytes<ROWS>);
    const bool next_wide = is_wide(at + 1 == p.pieces_a_band ? 0 : at + 1);
    const uint8_t* following = tile;
#pragma unroll
    for (int b = 0; b < batches; b++) {
      warpgroup::pin(c);
      warpgroup::fence();
#pragma unroll
      for (int s = 0; s < batch; s++) {
        const int step = b * batch + s;
        warpgroup::Product<T>::run(c, a[b % 2][s], activations + step / 4 * (ROWS * 128 >> 4) + step % 4 * 2, step % steps > 0);
      }
      warpgroup::commit();
      const bool stores = b + 1 == batches && piece + 1 < end;
      if (b + 1 == batches) {
        ring.step();
        following = ring.wait(kLaneStages - 2);
      }
      warpgroup::wait<1>();  // the batch before has read its registers
      unpack_batch<T, batch, MIN, PAIR>(b + 1 < batches ? tile : following, b + 1 < batches ? wide : next_wide, (b + 1) % batches, a[(b + 1) % 2], lane);
      warpgroup::pin(a[(b + 1) % 2]);
      if (stores) {
        x.store(slots + (slot ^ 1) * kSlotBytes<ROWS>, sums + (slot ^ 1) * kSlotSums<ROWS>);
        warpgroup::fence_shared();
        __syncwarp();  // keeps the loads behind the fence, which would wait for them
        load_x();
      }
      if ((b + 1) * batch % steps == 0) {
        warpgroup::wait<0>();
        warpgroup::pin(c);
        apply_group<GROUP, ROWS, MIN>(acc, c, tile + (kUnitRows * kTileCols / 2 << (PAIR && wide)), sums + slot * kSlotSums<ROWS>, b * batch / steps, lane);
      }
    }
    tile = following, wide = next_wide;
    __syncwarp();  // all lanes have read its scales
    fetch_weights();
    if (++at == p.pieces_a_band || piece + 1 == end) {
      end_band<T, ROWS>(p, acc, band, band > band_0 || at_0 == 0, at == p.pieces_a_band);
      band++, at = 0;
#pragma unroll
      for (int i = 0; i < ROWS / 2; i++) acc[i] = 0.f;
    }
  }
#endif
}

// A mixed matrix, symmetric: all warps of a block have the same width at a time, so it costs one branch a run. Before runs were
// looked along, on an H200, 4 bits on average in widths of 3 to 6, us, here and by many_rows.cuh:
// 4096x14336 at 64 rows 41.1 and 47.9, at 40 40.7 and 47.4, at 32 35.2 and 33.5, at 16 31.4 and 29.1. Hence from 33 rows on.
template <class T, int ROWS>
__global__ void __launch_bounds__(kWgmmaThreads, 1) linear_wgmma_mixed(const __grid_constant__ ManyRows p) {
#if HONE_WARPGROUP
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ TileTable table;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int begin = first_of(p, blockIdx.x), end = first_of(p, blockIdx.x + 1);
  uint8_t* slots = shared + (-shared_address(shared) & (kSwizzleBytes - 1));
  uint8_t* rings = slots + 2 * kSlotBytes<ROWS>;
  uint64_t* barriers = reinterpret_cast<uint64_t*>(rings + kBandUnits * p.stages * p.tile_size);
  WarpRing ring(rings + warp * p.stages * p.tile_size, barriers + warp * p.stages, p.stages, p.tile_size, lane);
  table.fill(p.runs, p.tiles_a_unit);
  __syncthreads();

  const int64_t unit_bytes = table.entries[p.tiles_a_unit].begin;
  const int band_0 = begin / p.pieces_a_band, at_0 = begin - band_0 * p.pieces_a_band;
  const uint8_t* unit = p.tiles + (int64_t(band_0) * kBandUnits + warp) * unit_bytes;
  int fetched = begin, fetch_at = at_0;
  const auto fetch_weights = [&] {
    if (fetched++ >= end) return;
    const int from = table.entries[fetch_at].begin;
    ring.fetch(unit + from, 1, table.entries[fetch_at + 1].begin - from, 0);
    if (++fetch_at == p.pieces_a_band) fetch_at = 0, unit += kBandUnits * unit_bytes;
  };
  launch_dependents();
  for (int i = 0; i < p.stages; i++) fetch_weights();
  wait_for_dependencies();

  Activations<T, ROWS, false> x(p);
  int load_at = at_0;
  const auto load_x = [&] {
    x.load(load_at);
    if (++load_at == p.pieces_a_band) load_at = 0;
  };
  load_x();
  x.store(slots, nullptr);
  warpgroup::fence_shared();
  load_x();

  float acc[ROWS / 2] = {};
  int at = at_0, slot = 0, piece = begin, band = band_0;
  const auto store_next = [&] {
    if (piece + 1 == end) return;
    x.store(slots + (slot ^ 1) * kSlotBytes<ROWS>, nullptr);
    warpgroup::fence_shared();
    __syncwarp();  // keeps the loads behind the fence, which would wait for them
    load_x();
  };
  // Pieces of one width, up to `last`, in groups of 128: as linear_wgmma, the next is unpacked while one is multiplied.
  const auto multiply_run = [&](auto bits, int last) {
    constexpr int width = decltype(bits)::value;
    constexpr float zero = 1 << (width - 1);
    uint32_t a[2][4][4];
    float c[ROWS / 2];
    const uint8_t* tile = ring.wait();
    unpack_some<T, width, 4>(tile, 0, a[0], lane, zero);
    for (; piece < last; piece++, at++, slot ^= 1) {
      __syncthreads();  // this piece's activations are stored, the products that read the other slot are done
      const uint64_t activations = warpgroup::descriptor(slots + slot * kSlotBytes<ROWS>);
      const uint8_t* following = tile;
#pragma unroll
      for (int b = 0; b < 2; b++) {
        warpgroup::pin(c);
        warpgroup::fence();
#pragma unroll
        for (int s = 0; s < 4; s++) warpgroup::Product<T>::run(c, a[b][s], activations + b * (ROWS * 128 >> 4) + s * 2, b + s > 0);
        warpgroup::commit();
        if (b == 1 && piece + 1 < last) following = stage_after(ring);
        warpgroup::wait<1>();  // the batch before has read its registers
        unpack_some<T, width, 4>(b ? following : tile, b ^ 1, a[b ^ 1], lane, zero);
        warpgroup::pin(a[b ^ 1]);
      }
      store_next();
      const __half* scales = reinterpret_cast<const __half*>(tile + kUnitRows * kTileCols * width / 8) + lane / 4;
      const float low = __half2float(scales[0]), high = __half2float(scales[8]);
      warpgroup::wait<0>();
      warpgroup::pin(c);
#pragma unroll
      for (int i = 0; i < ROWS / 2; i++) acc[i] = fmaf(i % 4 < 2 ? low : high, c[i], acc[i]);
      tile = following;
      ring.release();
      fetch_weights();
    }
  };
  const auto multiply = [&](auto bits) {
    const TileTable::Entry entry = table.entries[at];
    if (entry.shift() == 7) return multiply_run(bits, min(piece + entry.end() - at, end));
    __syncthreads();
    const uint64_t activations = warpgroup::descriptor(slots + slot * kSlotBytes<ROWS>);
    multiply_tile<T, decltype(bits)::value, 32, ROWS>(ring.wait(), activations, acc, entry.shift(), lane, store_next);
    ring.release();
    fetch_weights();
    piece++, at++, slot ^= 1;
  };
  while (piece < end) {
    switch (table.entries[at].bits()) {
      case 2: multiply(std::integral_constant<int, 2>{}); break;
      case 3: multiply(std::integral_constant<int, 3>{}); break;
      case 4: multiply(std::integral_constant<int, 4>{}); break;
      case 5: multiply(std::integral_constant<int, 5>{}); break;
      case 6: multiply(std::integral_constant<int, 6>{}); break;
      default: multiply(std::integral_constant<int, 8>{});
    }
    if (at == p.pieces_a_band || piece == end) {
      end_band<T, ROWS>(p, acc, band, band > band_0 || at_0 == 0, at == p.pieces_a_band);
      band++, at = 0;
#pragma unroll
      for (int i = 0; i < ROWS / 2; i++) acc[i] = 0.f;
    }
  }
#endif
}

template <class T, int GROUP, int ROWS, bool MIN, bool PAIR>
void launch_wgmma_rows(const Linear& c, const Device& device, cudaStream_t stream) {
  ManyRows p{c.tiles, c.x, c.y, c.partials, c.counters, c.rows, c.cols, c.outs, c.ldx};
  p.tiles_a_unit = p.pieces_a_band = (c.cols + kTileCols - 1) / kTileCols;
  p.bands = int(padded_units(c.outs)) / kBandUnits;
  p.wide_out = c.wide_out;
  if (PAIR) p.wide_tiles = wide_tiles(c.runs, p.tiles_a_unit);
  // The division of columns must not follow from the number of rows where answers do not depend on their company.
  const int blocks = std::min((c.invariant ? 1 : kWgmmaBlocks<ROWS>) * device.sms, p.bands * p.pieces_a_band);
  divide(p, blocks);
  constexpr int stage = PAIR ? kWideTile : kLaneTile<GROUP, MIN>;
  const int64_t shared_bytes = kSwizzleBytes + 2 * kSlotBytes<ROWS> + (MIN ? 2 * kSlotSums<ROWS> * 4 : 0) + kBandUnits * kLaneStages * stage;
  start(linear_wgmma<T, GROUP, ROWS, MIN, PAIR>, p, blocks, kWgmmaThreads, shared_bytes, c, device, stream);
}

template <class T, int ROWS>
void launch_wgmma_mixed(const Linear& c, const Device& device, cudaStream_t stream) {
  ManyRows p{c.tiles, c.x, c.y, c.partials, c.counters, c.rows, c.cols, c.outs, c.ldx};
  p.tiles_a_unit = p.pieces_a_band = (c.cols + kTileCols - 1) / kTileCols;
  p.bands = int(padded_units(c.outs)) / kBandUnits;
  p.tile_size = largest_tile(c.runs);
  p.wide_out = c.wide_out, p.runs = c.runs;
  const int64_t fixed = kSwizzleBytes + 2 * kSlotBytes<ROWS>, stage = kBandUnits * (p.tile_size + 8);
  const int64_t budget = c.ring_bytes ? c.ring_bytes : device.shared_bytes / 2 - 1536 - int64_t(sizeof(TileTable));
  p.stages = int(std::clamp<int64_t>((budget - fixed) / stage, 3, 12));
  const int blocks = std::min(device.sms, p.bands * p.pieces_a_band);
  divide(p, blocks);
  start(linear_wgmma_mixed<T, ROWS>, p, blocks, kWgmmaThreads, fixed + p.stages * stage, c, device, stream);
}

template <class T, int ROWS, bool MIN>
void launch_wgmma_group(const Linear& c, const Device& device, cudaStream_t stream) {
  if (c.group == 128) return launch_wgmma_rows<T, 128, ROWS, MIN, false>(c, device, stream);
  c.group == 64 ? launch_wgmma_rows<T, 64, ROWS, MIN, false>(c, device, stream) : launch_wgmma_rows<T, 32, ROWS, MIN, false>(c, device, stream);
}

template <class T, int ROWS>
void launch_wgmma_form(const Linear& c, const Device& device, cudaStream_t stream) {
  if (c.bits == 0) return launch_wgmma_rows<T, 128, ROWS, false, true>(c, device, stream);
  c.has_min ? launch_wgmma_group<T, ROWS, true>(c, device, stream) : launch_wgmma_group<T, ROWS, false>(c, device, stream);
}

template <Type TYPE>
void launch_wgmma(const Linear& c, const Device& device, cudaStream_t stream) {
  using T = std::conditional_t<TYPE == Type::f16, __half, __nv_bfloat16>;
  if (c.bits == 0 && !is_pair(c.runs)) return launch_wgmma_mixed<T, 64>(c, device, stream);
  if (c.rows > 32) return launch_wgmma_form<T, 64>(c, device, stream);
  c.rows > 16 ? launch_wgmma_form<T, 32>(c, device, stream) : launch_wgmma_form<T, 16>(c, device, stream);
}

}  // namespace hone::cuda
