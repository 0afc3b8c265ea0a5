// y = x W^T for 1 to 16 activation rows and quantized weights: a stream of weights with a little arithmetic.
//
// Split. A block owns a range of units (16 weight rows) over all columns, or over one slice of them where the activations of all
// do not fit; its warps share the columns. So sums meet in shared memory, in the order of the warps, and no block waits for another:
// 4096, 6144, 14336 and 28672 outputs balance to 97 % on 132 multiprocessors. With slices, partial sums go through a workspace and
// the block that comes latest adds them in the order of slices: the same bits every time, whoever is latest.
// Stream. Each warp fills a ring of its own, several tiles ahead, before it looks at the activations. Under dependent launch the ring
// is full when the kernel before ends. Rows are summed only after several units (all of them, at one row), not at each.
// Versions, on an H200, 4096x14336 at 1 / 8 rows in us: 8 warps, one tile a stage, one chain of products 13.3 / -; two chains, two tiles
// a stage 12.0 / 21.8; 16 warps where a block streams more than 128 kB 10.8 / 16.2; sums of more units at once 10.8 / 13.8. Without
// dependent launch 2.5 to 3.5 us more.
#pragma once
#include "kernels/linear/tile.cuh"

namespace hone::cuda {

struct FewRows {
  const uint8_t* tiles = nullptr;
  const void* x = nullptr;
  void* y = nullptr;
  float* partials = nullptr;
  int* counters = nullptr;
  int rows = 0, cols = 0, outs = 0, ldx = 0;
  int units = 0, tiles_a_unit = 0, tile_size = 0, stage_tiles = 0, stages = 0, slices = 0, batch_units = 0;
  int group = 0;
  bool has_min = false, wide_out = false;
  int64_t unit_size = 0;  // bytes of a unit
  Runs runs{};            // of a mixed matrix
  int stage_size = 0, wide_tiles = 0, wide_size = 0;  // of a mixed matrix: bytes of a stage; of a pair: its 8-bit tiles, their bytes
};

template <class T>
__device__ __forceinline__ void write_one(void* y, int64_t at, float v, bool wide) {
  if (wide)
    static_cast<float*>(y)[at] = v;
  else
    static_cast<T*>(y)[at] = round_to<T>(v);
}

// Columns of a slice as stored in shared memory: the 64 bytes more keep the 8 rows on different banks.
__host__ __device__ inline int few_rows_stride(int tiles_a_unit, int slices) {
  return (tiles_a_unit + slices - 1) / slices * kTileCols * 2 + 64;
}

template <class T>
__device__ __forceinline__ void stage_activations(uint8_t* xs, int stride, const T* x, int ldx, int rows, int cols, int first_col, int num_cols) {
  const int pieces = num_cols / 8;
  for (int i = threadIdx.x; i < rows * pieces; i += blockDim.x) {
    const int row = i / pieces, at = i % pieces * 8, col = first_col + at;
    const bool valid = col < cols;
    copy_16(xs + row * stride + at * 2, x + int64_t(row) * ldx + (valid ? col : 0), valid);
  }
  copy_commit();
}

// Sum `n` units that the warps left in `sums` [unit][warp][row][16] and write them to y or to the workspace.
template <class T>
__device__ __forceinline__ void finish_units(const FewRows& p, const float* sums, int first_unit, int n, int slice) {
  const int warps = blockDim.x / 32, one = p.rows * kUnitRows;
  for (int i = threadIdx.x; i < n * one; i += blockDim.x) {
    const int unit = i / one, place = i % one, row = place / kUnitRows, out = (first_unit + unit) * kUnitRows + place % kUnitRows;
    float total = 0.f;
    for (int w = 0; w < warps; w++) total += sums[(unit * warps + w) * one + place];
    if (p.slices > 1)
      __stcg(p.partials + (int64_t(slice) * p.rows + row) * p.units * kUnitRows + out, total);
    else if (out < p.outs)
      write_one<T>(p.y, int64_t(row) * p.outs + out, total, p.wide_out);
  }
}

// True in the one block that comes latest of `count`; it sees what all threads of the others wrote.
__device__ __forceinline__ bool is_latest(int* counter, int count) {
  __shared__ bool latest;
  __syncthreads();
  if (threadIdx.x == 0) {
    int before;
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    latest = before == count - 1;
    if (latest) *counter = 0;
  }
  __syncthreads();
  return latest;
}

template <class T>
__device__ __forceinline__ void add_slices(const FewRows& p, int first_unit, int end_unit) {
  const int first = first_unit * kUnitRows, width = min(end_unit * kUnitRows, p.outs) - first, padded = p.units * kUnitRows;
  for (int i = threadIdx.x; i < p.rows * width; i += blockDim.x) {
    const int row = i / width, out = first + i % width;
    float total = 0.f;
    for (int s = 0; s < p.slices; s++) total += __ldcg(p.partials + (int64_t(s) * p.rows + row) * padded + out);
    write_one<T>(p.y, int64_t(row) * p.outs + out, total, p.wide_out);
  }
}

// COLS: columns of 8 activation rows, 1 or 2.
template <class T, int BITS, int GROUP, int COLS>
__global__ void __launch_bounds__(COLS == 1 ? 512 : 256, 1) linear_few_rows(const __grid_constant__ FewRows p) {
  extern __shared__ __align__(128) uint8_t shared[];
  const int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int slice = blockIdx.x % p.slices, range = blockIdx.x / p.slices, ranges = gridDim.x / p.slices;
  const int unit_0 = int(int64_t(p.units) * range / ranges), unit_1 = int(int64_t(p.units) * (range + 1) / ranges);
  const int slice_0 = p.tiles_a_unit * slice / p.slices, slice_1 = p.tiles_a_unit * (slice + 1) / p.slices;
  const int tile_0 = slice_0 + (slice_1 - slice_0) * warp / warps, tile_1 = slice_0 + (slice_1 - slice_0) * (warp + 1) / warps;
  const int own = tile_1 - tile_0;
  const int stride = few_rows_stride(p.tiles_a_unit, p.slices), stage_size = p.stage_tiles * p.tile_size, ring_size = p.stages * stage_size;
  uint8_t* xs = shared + warps * ring_size;
  float* sums = reinterpret_cast<float*>(xs + p.rows * stride);
  uint64_t* barriers = reinterpret_cast<uint64_t*>(sums + p.batch_units * warps * p.rows * kUnitRows);
  WarpRing ring(shared + warp * ring_size, barriers + warp * p.stages, p.stages, stage_size, lane);

  // Where the next stage comes from: stage_tiles at a time along this warp's tiles of a unit, then on to the next unit.
  const int64_t to_next_unit = p.unit_size - own * p.tile_size;
  const uint8_t* next = p.tiles + unit_0 * p.unit_size + tile_0 * p.tile_size;
  int units_left = own > 0 ? unit_1 - unit_0 : 0, tiles_left = own;
  const auto fetch_next = [&] {
    if (units_left > 0) {
      const int num_bytes = min(tiles_left, p.stage_tiles) * p.tile_size;
      ring.fetch(next, 1, num_bytes, 0);
      next += num_bytes, tiles_left -= p.stage_tiles;
      if (tiles_left <= 0) tiles_left = own, next += to_next_unit, units_left--;
    }
#if !HONE_BULK_COPY
    copy_commit();
#endif
  };
  launch_dependents();
  for (int i = 0; i < p.stages; i++) fetch_next();

  wait_for_dependencies();
  stage_activations(xs, stride, static_cast<const T*>(p.x), p.ldx, p.rows, p.cols, slice_0 * kTileCols, (slice_1 - slice_0) * kTileCols);
  copy_wait(0);
  __syncthreads();

  const int quad = lane & 3, row = lane >> 2;
  const uint8_t* my_x = xs + (row < p.rows ? row : 0) * stride + quad * 16 + (tile_0 - slice_0) * kTileCols * 2;
  const int step = row + 8 < p.rows ? 8 * stride : 0;
  TileProduct<T, BITS, GROUP, 2, 1, COLS, true> product(p.group, p.has_min, lane);
  for (int first = unit_0; first < unit_1; first += p.batch_units) {
    const int n = min(p.batch_units, unit_1 - first);
    for (int u = 0; u < n; u++) {
      float acc[1][COLS][4] = {};
      const uint8_t* at_x = my_x;
      for (int left = own; left > 0;) {
#if !HONE_BULK_COPY
        copy_wait(p.stages - 1);
        __syncwarp();
#endif
        const uint8_t* stage = ring.wait();
        for (int t = 0; t < min(left, p.stage_tiles); t++) {
          product.run(stage, 0, at_x, step, acc);
          stage += p.tile_size, at_x += kTileCols * 2;
        }
        left -= p.stage_tiles;
        ring.release();
        fetch_next();
      }
      float* mine = sums + (u * warps + warp) * p.rows * kUnitRows;
#pragma unroll
      for (int b = 0; b < COLS; b++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
          const int col = b * 8 + quad * 2 + (i & 1);
          if (col < p.rows) mine[col * kUnitRows + row + (i / 2) * 8] = acc[0][b][i];
        }
    }
    __syncthreads();
    finish_units<T>(p, sums, first, n, slice);
    __syncthreads();
  }
  if (p.slices > 1 && is_latest(p.counters + range, p.slices)) add_slices<T>(p, unit_0, unit_1);
}

}  // namespace hone::cuda
