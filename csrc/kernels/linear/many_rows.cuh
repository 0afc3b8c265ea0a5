// y = x W^T for 9 to 64 activation rows (where few_rows.cuh has no room for 9 to 16, from 17 on always) and quantized weights: tensor cores, weights still streamed once.
//
// Split. Work is counted in pieces of one band (128 weight rows) by 256 or 512 columns, and each block takes an equal run of pieces, so a block
// ends inside a band and the next goes on there: 97 % balance for any shape, and only a block's own part of the activations is read.
// Partial sums of a band that several blocks share go through a workspace; the block that comes latest adds them in the order of blocks:
// the same bits every time.
// In a block 4 warps own 32 rows each, PARTS times: each four take every PARTS-th tile, and the parts are added at the end of a band.
// 32 rows a warp, since a fragment of activations read from shared memory must serve two products or that memory is the limit.
// Stream. Each warp fills its own ring with weights ahead of the activations; these come piece by piece for the whole block.
// Tried, on an H200, 4096x14336 at 16 / 64 rows in us (this one: 19.4 / 41.0): runtime divisions in the loop and a fence of all threads
// at the end 30.3 / 54.3; 16 warps of 16 rows 19.8 / 44.5; wgmma with weights from registers, a wait each 32 columns 25.9 / 46.8; all
// activations read once, no barrier in the loop 19.8 / -. Parts left out: no products and no end of bands 9.0 / 12.3, no products
// 12.8 / 18.0, no partial sums through the workspace 16.5 / 36.3, no weights waited for 16.2 / 37.3. So products cost 7 / 23 us on top of
// the stream instead of below it: what is left to win is wgmma that overlaps with unpacking (the group known when compiling, or the
// compiler serializes it), then the 4 / 6 us of the end.
#pragma once
#include "kernels/linear/few_rows.cuh"

namespace hone::cuda {

constexpr int kBandRows = kBandUnits * kUnitRows, kSumStride = kBandRows + 4;

template <int PARTS>
constexpr int kPieceStride = PARTS * kTileCols * 2 + 64;

struct ManyRows {
  const uint8_t* tiles = nullptr;
  const void* x = nullptr;
  void* y = nullptr;
  float* partials = nullptr;
  int* counters = nullptr;
  int rows = 0, cols = 0, outs = 0, ldx = 0;
  int bands = 0, tiles_a_unit = 0, pieces_a_band = 0, tile_size = 0, stages = 0, x_stages = 0;
  int group = 0;
  bool wide_out = false;
  Runs runs{};  // of a mixed matrix, whose tile_size is the largest
  int least_pieces = 0, longer_blocks = 0;  // of products by warpgroups: how pieces are divided
  int wide_tiles = 0, narrow_size = 0;  // of a pair: its 8-bit tiles, bytes of the others
};

// Pieces (kMaxBands bands, 256 a band at most) times blocks stay below 2^32.
__device__ __forceinline__ int first_piece(int pieces, int block, int blocks) { return int(unsigned(pieces) * unsigned(block) / unsigned(blocks)); }

// The block that owns a piece: the largest b with first_piece(b) <= piece.
__device__ __forceinline__ int block_of(int pieces, int piece, int blocks) {
  return int((unsigned(piece + 1) * unsigned(blocks) - 1) / unsigned(pieces));
}

// The parts' sums of one band into `sums` [row of x][128 + 4].
template <int COLS, int PARTS>
__device__ __forceinline__ void meet_in_shared(float* sums, const float (&acc)[2][COLS][4], int warp, int lane) {
  for (int part = 0; part < PARTS; part++) {
    if (warp / 4 == part)
#pragma unroll
      for (int u = 0; u < 2; u++)
#pragma unroll
        for (int b = 0; b < COLS; b++)
#pragma unroll
          for (int i = 0; i < 4; i++) {
            const int col = b * 8 + (lane & 3) * 2 + (i & 1), out = (warp % 4) * 32 + u * 16 + (i / 2) * 8 + (lane >> 2);
            float& place = sums[col * kSumStride + out];
            place = part ? place + acc[u][b][i] : acc[u][b][i];
          }
    __syncthreads();
  }
}

template <class T>
__device__ __forceinline__ void write_four(const ManyRows& p, int row, int out, float4 v) {
  const int64_t at = int64_t(row) * p.outs + out;
  const float values[4] = {v.x, v.y, v.z, v.w};
  T* y = static_cast<T*>(p.y) + at;
  if (p.wide_out) {
    for (int i = 0; i < 4; i++)
      if (out + i < p.outs) static_cast<float*>(p.y)[at + i] = values[i];
  } else if (out + 4 <= p.outs && p.outs % 4 == 0) {
    T rounded[4] = {round_to<T>(v.x), round_to<T>(v.y), round_to<T>(v.z), round_to<T>(v.w)};
    *reinterpret_cast<uint2*>(y) = *reinterpret_cast<uint2*>(rounded);
  } else {
    for (int i = 0; i < 4; i++)
      if (out + i < p.outs) y[i] = round_to<T>(values[i]);
  }
}

// Not inlined: its registers would be the main loop's.
template <class T, int COLS, int PARTS>
__device__ __noinline__ void finish_band(const ManyRows& p, const float* sums, int band, int pieces) {
  const int blocks = gridDim.x, own = blockIdx.x, first = band * p.pieces_a_band;
  const int block_0 = block_of(pieces, first, blocks), block_1 = block_of(pieces, first + p.pieces_a_band - 1, blocks);
  constexpr int quads = kBandRows / 4;
  const int count = p.rows * quads;
  if (block_0 == block_1) {
    for (int i = threadIdx.x; i < count; i += blockDim.x)
      write_four<T>(p, i / quads, band * kBandRows + i % quads * 4, *reinterpret_cast<const float4*>(sums + i / quads * kSumStride + i % quads * 4));
    return;
  }
  // A block has two places in the workspace: one for the band it begins in, one for the band it ends in.
  const auto place = [&](int block) {
    const bool begins = first_piece(pieces, block, blocks) / p.pieces_a_band == band;
    return reinterpret_cast<float4*>(p.partials + (int64_t(block) * 2 + (begins ? 0 : 1)) * kBandRows * p.rows);
  };
  float4* mine = place(own);
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    __stcg(mine + i, *reinterpret_cast<const float4*>(sums + i / quads * kSumStride + i % quads * 4));
  if (!is_latest(p.counters + band, block_1 - block_0 + 1)) return;
  constexpr int threads = PARTS * 128, own_quads = COLS * 8 * quads / threads;
  float4 total[own_quads] = {};
  for (int b = block_0; b <= block_1; b++) {
    const float4* theirs = place(b) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < own_quads; i++)
      if (int(threadIdx.x) + i * threads < count) {
        const float4 v = __ldcg(theirs + i * threads);
        total[i].x += v.x, total[i].y += v.y, total[i].z += v.z, total[i].w += v.w;
      }
  }
#pragma unroll
  for (int i = 0; i < own_quads; i++) {
    const int at = int(threadIdx.x) + i * threads;
    if (at < count) write_four<T>(p, at / quads, band * kBandRows + at % quads * 4, total[i]);
  }
}

// One piece of activations into a slot; each thread copies the same 8 columns of every so many rows.
template <class T, int COLS, int PARTS>
__device__ __forceinline__ void stage_piece(const ManyRows& p, uint8_t* slot, int at) {
  constexpr int pieces_a_row = PARTS * kTileCols / 8, rows_at_once = PARTS * 128 / pieces_a_row;
  const int row = threadIdx.x / pieces_a_row, place = threadIdx.x % pieces_a_row, col = (at * pieces_a_row + place) * 8;
  const bool valid = col < p.cols;
  const T* from = static_cast<const T*>(p.x) + int64_t(row) * p.ldx + (valid ? col : 0);
  uint8_t* to = slot + row * kPieceStride<PARTS> + place * 16;
#pragma unroll
  for (int i = 0; i < COLS * 8 / rows_at_once; i++)
    if (row + i * rows_at_once < p.rows) copy_16(to + i * rows_at_once * kPieceStride<PARTS>, from + int64_t(i * rows_at_once) * p.ldx, valid);
  copy_commit();
}

template <class T, int BITS, int MIN, int COLS, int PARTS>
__global__ void __launch_bounds__(PARTS * 128, 1) linear_many_rows(const __grid_constant__ ManyRows p) {
  extern __shared__ __align__(128) uint8_t shared[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, part = warp / 4;
  const int pieces = p.bands * p.pieces_a_band;
  const int begin = first_piece(pieces, blockIdx.x, gridDim.x), end = first_piece(pieces, blockIdx.x + 1, gridDim.x);
  const int stage_size = 2 * p.tile_size, ring_size = p.stages * stage_size, x_size = COLS * 8 * kPieceStride<PARTS>;
  uint8_t* xs = shared + PARTS * 4 * ring_size;
  float* sums = reinterpret_cast<float*>(xs + p.x_stages * x_size);
  uint64_t* barriers = reinterpret_cast<uint64_t*>(sums + COLS * 8 * kSumStride);
  WarpRing ring(shared + warp * ring_size, barriers + warp * p.stages, p.stages, stage_size, lane);

  // Activations of piece `at` of a band (or of the bands after it) go to their slot; weights follow a pointer along the pieces.
  // A pair needs no table: looking tiles up in it would be 4 % of the time.
  const auto offset = [&](int tile) {
    if (BITS == kPair) return tile * p.narrow_size + min(tile, p.wide_tiles) * (p.tile_size - p.narrow_size);
    return kMixed<BITS> ? offset_of(p.runs, tile) : tile * p.tile_size;
  };
  const auto run = [&](int tile) -> Run {
    if (BITS != kPair) return run_of(p.runs, tile);
    const bool wide = tile < p.wide_tiles;
    return {0, 0, wide ? p.tile_size : p.narrow_size, wide ? 8 : 4, kTileCols};
  };
  const int64_t row_bytes = offset(p.tiles_a_unit);
  const int band_0 = begin / p.pieces_a_band, at_0 = begin - band_0 * p.pieces_a_band;
  const uint8_t* next = p.tiles + (int64_t(band_0) * kBandUnits + warp % 4 * 2) * row_bytes + (kMixed<BITS> ? 0 : (at_0 * PARTS + part) * p.tile_size);
  const auto wrapped = [&](int at) {
    while (at >= p.pieces_a_band) at -= p.pieces_a_band;
    return at;
  };
  const auto fetch_weights = [&](int piece, int at) {
    if (piece >= end) return;
    at = wrapped(at);
    if constexpr (kMixed<BITS>) {  // `next` is the unit then
      const int tile = at * PARTS + part;
      if (tile < p.tiles_a_unit) ring.fetch(next + offset(tile), 2, run(tile).tile_bytes, row_bytes);
      if (at + 1 == p.pieces_a_band) next += kBandUnits * row_bytes;
      return;
    }
    if (at * PARTS + part < p.tiles_a_unit) ring.fetch(next, 2, p.tile_size, row_bytes);
    next += PARTS * p.tile_size;
    if (at + 1 == p.pieces_a_band) next += kBandUnits * row_bytes - PARTS * p.pieces_a_band * p.tile_size;
  };
  const auto fetch_x = [&](int piece, int at, int slot) {
    if (piece >= end) return copy_commit();
    stage_piece<T, COLS, PARTS>(p, xs + slot * x_size, wrapped(at));
  };
  launch_dependents();
  // Before sm_90 weights travel in the groups of the activations: then both have the same number of stages.
  const int ahead = HONE_BULK_COPY ? p.stages - 1 : p.x_stages - 1;
  if (HONE_BULK_COPY)
    for (int i = 0; i < ahead; i++) fetch_weights(begin + i, at_0 + i);
  wait_for_dependencies();
  for (int i = 0; i < p.x_stages - 1; i++) {
    if (!HONE_BULK_COPY) fetch_weights(begin + i, at_0 + i);
    fetch_x(begin + i, at_0 + i, i);
  }

  const uint8_t* my_x = xs + (lane >> 2) * kPieceStride<PARTS> + (lane & 3) * 16 + part * kTileCols * 2;
  const AnyProduct<T, BITS, MIN, 2, COLS, false> any{MIN == 1, lane};
  TileProduct<T, kMixed<BITS> ? 4 : BITS, 0, MIN, 2, COLS, false> product(p.group, MIN == 1, lane);
  float acc[2][COLS][4] = {};
  int at = at_0, slot = 0;
  for (int piece = begin; piece < end; piece++) {
    p.x_stages == 2 ? copy_wait(0) : p.x_stages == 3 ? copy_wait(1) : copy_wait(2);
    __syncthreads();
    fetch_weights(piece + ahead, at + ahead);
    fetch_x(piece + p.x_stages - 1, at + p.x_stages - 1, slot == 0 ? p.x_stages - 1 : slot - 1);
    if (at * PARTS + part < p.tiles_a_unit) {
      if constexpr (!kMixed<BITS>)
        product.run(ring.wait(), p.tile_size, my_x + slot * x_size, 8 * kPieceStride<PARTS>, acc);
      else
        any.run(run(at * PARTS + part), 1, ring.wait(), my_x + slot * x_size, 8 * kPieceStride<PARTS>, acc);
      ring.release();
    }
    if (++slot == p.x_stages) slot = 0;
    if (++at == p.pieces_a_band || piece + 1 == end) {
      meet_in_shared<COLS, PARTS>(sums, acc, warp, lane);
      finish_band<T, COLS, PARTS>(p, sums, piece / p.pieces_a_band, pieces);
      __syncthreads();
      at = 0;
#pragma unroll
      for (int u = 0; u < 2; u++)
#pragma unroll
        for (int b = 0; b < COLS; b++) acc[u][b][0] = acc[u][b][1] = acc[u][b][2] = acc[u][b][3] = 0.f;
    }
  }
}

}  // namespace hone::cuda
