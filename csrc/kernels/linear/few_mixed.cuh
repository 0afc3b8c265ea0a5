// y = x W^T for 1 to 16 activation rows and a matrix of several widths: few_rows.cuh, but for how a block's work is divided.
//
// There each warp has its own columns; here the widths of those would decide how long it takes. So a warp has an equal share of the
// work of all units of the block, one behind the other: it meets every width, stores sums only at the end of a unit (some 32 tiles,
// not 2), and reads memory straight on. The sums of a unit that several warps share are added in the order of warps: the same bits
// every time.
#pragma once
#include <type_traits>

#include "kernels/linear/few_rows.cuh"

namespace hone::cuda {

constexpr int kMostWarps = 16;

// A stage holds two tiles of up to 4 bits or one of more: as many bytes, more or less. (Single tiles in a ring counted in bytes: 27.9 us
// at 4096x28672 and one row where this takes 21.)
__host__ __device__ __forceinline__ int tiles_a_stage(int bits) { return bits <= 4 ? 2 : 1; }

// Walk in the steps of stages.
struct MixedWalk {
  Walk walk;

  __device__ __forceinline__ MixedWalk(const FewRows& p, int first, int end, int start) : walk(p.runs, first, end, start) {}
  __device__ __forceinline__ int tile() const { return walk.tile; }
  __device__ __forceinline__ Run run() const { return walk.run; }
  __device__ __forceinline__ int count() const { return walk.count(tiles_a_stage(walk.run.bits)); }
  // True at the end of a unit.
  __device__ __forceinline__ bool pass(int n) {
    walk.pass(n);
    return walk.tile == walk.first;
  }
};

// The same for a pair, which needs no table: first the wide tiles, then the narrow ones.
struct PairWalk {
  const FewRows& p;
  int first, end, at;

  __device__ __forceinline__ PairWalk(const FewRows& p_, int first_, int end_, int start) : p(p_), first(first_), end(end_), at(start) {}
  __device__ __forceinline__ int tile() const { return at; }
  __device__ __forceinline__ Run run() const {
    const bool wide = at < p.wide_tiles;
    return {0, 0, wide ? p.wide_size : p.tile_size, wide ? 8 : 4, kTileCols};
  }
  __device__ __forceinline__ int count() const { return at < p.wide_tiles ? 1 : min(2, end - at); }
  __device__ __forceinline__ bool pass(int n) {
    at += n;
    if (at < end) return false;
    at = first;
    return true;
  }
};

// How long a tile takes beside others: those of a pair as long as their bytes, put together from planes half as long again as others.
template <int FORM>
__device__ __forceinline__ int weight_of(const Run& run) {
  return FORM == kPair ? run.tile_bytes / 32 : run.bits == 4 || run.bits == 8 ? 2 : 3;
}

// Where part `part` of the stream begins, in tiles: `units` units of tiles [first, end), parted by weight, between stages.
template <int FORM>
__device__ __forceinline__ int place_in_stream(const Runs& runs, int units, int first, int end, int part, int parts) {
  const auto begin_of = [&](int i) { return max(runs.run[i].first_tile, first); };
  const auto count_of = [&](int i) { return max((i + 1 < runs.count ? min(runs.run[i + 1].first_tile, end) : end) - begin_of(i), 0); };
  unsigned whole = 0;
  for (int i = 0; i < runs.count; i++) whole += count_of(i) * weight_of<FORM>(runs.run[i]);
  const unsigned at = units * whole * part / parts, unit = at / whole;
  int left = int(at - unit * whole), i = 0;
  for (; left >= count_of(i) * weight_of<FORM>(runs.run[i]); i++) left -= count_of(i) * weight_of<FORM>(runs.run[i]);
  const int tile = begin_of(i) + left / weight_of<FORM>(runs.run[i]), odd = (tile - runs.run[i].first_tile) & (tiles_a_stage(runs.run[i].bits) - 1);
  return int(unit) * (end - first) + max(tile - odd - first, 0);
}

// Sums of the block's units to y or to the workspace. Warp w left those of unit u at [u + w][row][16], if it has tiles of it.
template <class T>
__device__ __forceinline__ void finish_stream(const FewRows& p, const float* sums, const int* starts, int tiles, int first_unit, int n, int slice) {
  const int warps = blockDim.x / 32, one = p.rows * kUnitRows;
  for (int i = threadIdx.x; i < n * one; i += blockDim.x) {
    const int unit = i / one, place = i % one, row = place / kUnitRows, out = (first_unit + unit) * kUnitRows + place % kUnitRows;
    float total = 0.f;
#pragma unroll 8
    for (int w = 0; w < warps; w++) {  // what is not there is read too, so that no read waits for another
      const float sum = sums[(unit + w) * one + place];
      total += starts[w] < (unit + 1) * tiles && starts[w + 1] > max(unit * tiles, starts[w]) ? sum : 0.f;
    }
    if (p.slices > 1)
      __stcg(p.partials + (int64_t(slice) * p.rows + row) * p.units * kUnitRows + out, total);
    else if (out < p.outs)
      write_one<T>(p.y, int64_t(row) * p.outs + out, total, p.wide_out);
  }
}

// COLS: columns of 8 activation rows, 1 or 2. FORM: 0, or kPair. p.batch_units: places for sums.
template <class T, int FORM, int COLS>
__global__ void __launch_bounds__(COLS == 1 ? 512 : 256, 1) linear_few_mixed(const __grid_constant__ FewRows p) {
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ int starts[kMostWarps + 1];
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int slice = blockIdx.x % p.slices, range = blockIdx.x / p.slices, ranges = gridDim.x / p.slices;
  const int unit_0 = int(int64_t(p.units) * range / ranges), n = int(int64_t(p.units) * (range + 1) / ranges) - unit_0;
  const int slice_0 = p.tiles_a_unit * slice / p.slices, slice_1 = p.tiles_a_unit * (slice + 1) / p.slices, tiles = slice_1 - slice_0;
  const int stride = few_rows_stride(p.tiles_a_unit, p.slices), ring_size = p.stages * p.stage_size;
  uint8_t* xs = shared + warps * ring_size;
  float* sums = reinterpret_cast<float*>(xs + p.rows * stride);
  uint64_t* barriers = reinterpret_cast<uint64_t*>(sums + p.batch_units * p.rows * kUnitRows);
  WarpRing ring(shared + warp * ring_size, barriers + warp * p.stages, p.stages, p.stage_size, lane);

  const int place = place_in_stream<FORM>(p.runs, n, slice_0, slice_1, warp + (lane & 1), warps);  // this warp's, and the next one's
  const int other = __shfl_xor_sync(~0u, place, 1), start = min(place, other), own = max(place, other) - start;
  if (lane == 0) starts[warp] = start;
  if (threadIdx.x == 0) starts[warps] = n * tiles;
  int unit = start / tiles;
  std::conditional_t<FORM == kPair, PairWalk, MixedWalk> ahead(p, slice_0, slice_1, slice_0 + start - unit * tiles), here = ahead;  // what is fetched, what is multiplied
  const uint8_t* from = p.tiles + (unit_0 + unit) * p.unit_size + offset_of(p.runs, ahead.tile());
  const int64_t gap = p.unit_size - (offset_of(p.runs, slice_1) - offset_of(p.runs, slice_0));  // to the next unit
  int to_fetch = own;
  const auto fetch_next = [&] {
    if (to_fetch > 0) {
      const int count = min(ahead.count(), to_fetch), num_bytes = count * ahead.run().tile_bytes;
      ring.fetch(from, 1, num_bytes, 0);
      from += num_bytes, to_fetch -= count;
      if (ahead.pass(count)) from += gap;
    }
#if !HONE_BULK_COPY
    copy_commit();
#endif
  };
  launch_dependents();
  for (int i = 0; i < p.stages; i++) fetch_next();

  wait_for_dependencies();
  stage_activations(xs, stride, static_cast<const T*>(p.x), p.ldx, p.rows, p.cols, slice_0 * kTileCols, tiles * kTileCols);
  copy_wait(0);
  __syncthreads();

  const int quad = lane & 3, row = lane >> 2;
  const uint8_t* my_x = xs + (row < p.rows ? row : 0) * stride + quad * 16 - slice_0 * kTileCols * 2;
  const int step = row + 8 < p.rows ? 8 * stride : 0;
  const AnyProduct<T, FORM, 2, 1, COLS, true> any{p.has_min, lane};
  float acc[1][COLS][4] = {};
  for (int left = own; left > 0;) {
#if !HONE_BULK_COPY
    copy_wait(p.stages - 1);
    __syncwarp();
#endif
    const int count = min(here.count(), left);
    any.run(here.run(), count, ring.wait(), my_x + here.tile() * kTileCols * 2, step, acc);
    ring.release();
    fetch_next();
    left -= count;
    if (!here.pass(count) && left > 0) continue;
    float* mine = sums + (unit++ + warp) * p.rows * kUnitRows;
#pragma unroll
    for (int b = 0; b < COLS; b++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const int col = b * 8 + quad * 2 + (i & 1);
        if (col < p.rows) mine[col * kUnitRows + row + (i / 2) * 8] = acc[0][b][i];
        acc[0][b][i] = 0.f;
      }
  }
  __syncthreads();
  finish_stream<T>(p, sums, starts, tiles, unit_0, n, slice);
  if (p.slices > 1 && is_latest(p.counters + range, p.slices)) add_slices<T>(p, unit_0, unit_0 + n);
}

}  // namespace hone::cuda
