// Reading quantized weights back from the tiles of tile.cuh: rows of an embedding, and pieces of a matrix for a dense product.
#pragma once
#include "kernels/linear/tile.cuh"
#include "kernels/rows/eight.cuh"
#include "kernels/rows/rows.hpp"

namespace hone::cuda {

// Where the code of a tile's (row, col) lies: bits 4: index of a nibble; bits 8: of a byte.
__host__ __device__ inline int code_place(int bits, int row, int col) {
  const int high = row / 8, r = row % 8, quarter = col / 32, lane = col / 8 % 4, product = col / 4 % 2, pair = col / 2 % 2, odd = col % 2;
  if (bits == 8) return (((((quarter * 8 + r) * 4 + lane) * 2 + product) * 2 + pair) * 2 + high) * 2 + odd;
  return ((((((quarter / 2 * 8 + r) * 4 + lane) * 2 + quarter % 2) * 2 + product) * 2 + odd) * 2 + pair) * 2 + high;
}

__host__ __device__ inline int code_at(const uint8_t* tile, int bits, int row, int col) {
  const int place = code_place(bits, row, col);
  return bits == 8 ? tile[place] : tile[place / 2] >> (place % 2 * 4) & 15;
}

// Eight neighboring columns (col a multiple of 8) of one row of a tile.
__device__ inline void read_tile(const uint8_t* tile, int bits, int group, bool has_min, int row, int col, float (&v)[8]) {
  const __half* scales = reinterpret_cast<const __half*>(tile + kUnitRows * kTileCols * bits / 8);
  const int place = col / group * kUnitRows + row;
  const float scale = __half2float(scales[place]), zero = has_min ? 0.f : float(1 << (bits - 1));
  const float least = has_min ? __half2float(scales[kTileCols / group * kUnitRows + place]) : 0.f;
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = fmaf(float(code_at(tile, bits, row, col + i)) - zero, scale, least);
}

// Eight neighboring columns of rows `row` and row + 8 of a tile, from the one or two words of each that hold both.
__device__ inline void read_tile_pair(const uint8_t* tile, int bits, int group, bool has_min, int row, int col, float (&low)[8], float (&high)[8]) {
  const __half* scales = reinterpret_cast<const __half*>(tile + kUnitRows * kTileCols * bits / 8);
  const int place = col / group * kUnitRows + row;
  const float zero = has_min ? 0.f : float(1 << (bits - 1));
  const __half* mins = scales + kTileCols / group * kUnitRows;
  const float scale_low = __half2float(scales[place]), scale_high = __half2float(scales[place + 8]);
  const float least_low = has_min ? __half2float(mins[place]) : 0.f, least_high = has_min ? __half2float(mins[place + 8]) : 0.f;
  int codes_low[8], codes_high[8];
  if (bits == 4) {
    const uint2 words = *reinterpret_cast<const uint2*>(tile + code_place(4, row, col) / 2);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const uint32_t pair = (i < 4 ? words.x : words.y) >> (((i & 1) * 2 + (i >> 1 & 1)) * 8);
      codes_low[i] = int(pair & 15), codes_high[i] = int(pair >> 4 & 15);
    }
  } else {
    const uint4 words = *reinterpret_cast<const uint4*>(tile + code_place(8, row, col));
    const uint32_t word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 8; i++) {
      codes_low[i] = int(word[i / 2] >> (i % 2 * 8) & 255), codes_high[i] = int(word[i / 2] >> (16 + i % 2 * 8) & 255);
    }
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    low[i] = fmaf(float(codes_low[i]) - zero, scale_low, least_low);
    high[i] = fmaf(float(codes_high[i]) - zero, scale_high, least_high);
  }
}

// The same of a tile of 2, 3, 5 or 6 bits: one lane's two products of a quarter are just these codes.
template <int BITS>
__device__ inline void read_planes_pair(const uint8_t* tile, int group, bool has_min, int row, int col, float (&low)[8], float (&high)[8]) {
  using P = Planes<BITS>;
  const int quarter = col / 32, lane = row * 4 + col / 8 % 4;
  const uint8_t* own = tile + lane * 4;
  const uint2 four = P::four ? *reinterpret_cast<const uint2*>(tile + (quarter / 2 * 32 + lane) * 16 + quarter % 2 * 8) : uint2{};
  const uint32_t two = P::two ? *reinterpret_cast<const uint32_t*>(own + P::two_at + quarter * 128) : 0;
  const uint32_t one = P::one ? *reinterpret_cast<const uint32_t*>(own + P::one_at + quarter / 2 * 128) : 0;
  const __half* scales = reinterpret_cast<const __half*>(tile + kUnitRows * kTileCols * BITS / 8);
  const __half* mins = scales + kTileCols / group * kUnitRows;
  const int place = col / group * kUnitRows + row;
  const float zero = has_min ? 0.f : float(1 << (BITS - 1));
  const float scale[2] = {__half2float(scales[place]), __half2float(scales[place + 8])};
  const float least[2] = {has_min ? __half2float(mins[place]) : 0.f, has_min ? __half2float(mins[place + 8]) : 0.f};
#pragma unroll
  for (int k = 0; k < 8; k++) {
    const int product = k / 4, i = k % 4, at = product * 4 + i / 2 * 2;
    const uint32_t v = P::codes(product ? four.y : four.x, two, one, product, quarter % 2, i);
    float(&to)[8] = i & 1 ? high : low;
    to[at] = fmaf(float(v & 255) - zero, scale[i & 1], least[i & 1]);
    to[at + 1] = fmaf(float(v >> 16) - zero, scale[i & 1], least[i & 1]);
  }
}

__device__ inline void read_any_pair(const uint8_t* tile, int bits, int group, bool has_min, int row, int col, float (&low)[8], float (&high)[8]) {
  switch (bits) {
    case 2: return read_planes_pair<2>(tile, group, has_min, row, col, low, high);
    case 3: return read_planes_pair<3>(tile, group, has_min, row, col, low, high);
    case 5: return read_planes_pair<5>(tile, group, has_min, row, col, low, high);
    case 6: return read_planes_pair<6>(tile, group, has_min, row, col, low, high);
    default: return read_tile_pair(tile, bits, group, has_min, row, col, low, high);
  }
}

// A block writes out two tiles of one unit: a thread 8 columns of two rows.
template <class T>
__global__ void __launch_bounds__(256) dequantize_rows(const __grid_constant__ Dequantize p) {
  launch_dependents();
  wait_for_dependencies();
  const int tiles = (p.cols + kTileCols - 1) / kTileCols, tile = int(blockIdx.x) * 2 + int(threadIdx.x) / 128, place = int(threadIdx.x) % 128;
  const int row = place / 16, in_tile = place % 16 * 8, c = tile * kTileCols + in_tile, out_row = int(blockIdx.y) * kUnitRows + row;
  if (tile >= tiles || c >= p.cols) return;
  const int64_t unit = p.first_row / kUnitRows + int(blockIdx.y);
  float low[8], high[8];
  read_tile_pair(p.tiles + (unit * tiles + tile) * p.tile_size, p.bits, p.group, p.has_min, row, in_tile, low, high);
  T* out = static_cast<T*>(p.out) + int64_t(out_row) * p.cols + c;
  if (out_row < p.rows) write_eight(out, low);
  if (out_row + 8 < p.rows) write_eight(out + int64_t(8) * p.cols, high);
}

template <class T>
__global__ void __launch_bounds__(256) dequantize_mixed(const __grid_constant__ Dequantize p) {
  launch_dependents();
  wait_for_dependencies();
  const int tiles = (p.cols + kTileCols - 1) / kTileCols, tile = int(blockIdx.x) * 2 + int(threadIdx.x) / 128, place = int(threadIdx.x) % 128;
  const int row = place / 16, in_tile = place % 16 * 8, c = tile * kTileCols + in_tile, out_row = int(blockIdx.y) * kUnitRows + row;
  if (tile >= tiles || c >= p.cols) return;
  const Run& run = run_of(p.runs, tile);
  const int64_t unit = p.first_row / kUnitRows + int(blockIdx.y), unit_size = offset_of(p.runs, tiles);
  float low[8], high[8];
  read_any_pair(p.tiles + unit * unit_size + offset_of(p.runs, tile), run.bits, run.group, p.has_min, row, in_tile, low, high);
  T* out = static_cast<T*>(p.out) + int64_t(out_row) * p.cols + c;
  if (out_row < p.rows) write_eight(out, low);
  if (out_row + 8 < p.rows) write_eight(out + int64_t(8) * p.cols, high);
}

template <class X>  // void: tiles
__global__ void __launch_bounds__(256) embed_rows(const __grid_constant__ Embed p) {
  launch_dependents();
  wait_for_dependencies();
  const int c = int(blockIdx.x * blockDim.x + threadIdx.x) * 8, row = blockIdx.y;
  if (c >= p.cols) return;
  int token = p.tokens[row];
  if (token < 0) token = p.latest[-1 - token];
  token = min(max(token, 0), p.vocab - 1);
  float v[8];
  if constexpr (__is_same(X, void)) {
    const int64_t tiles = (p.cols + kTileCols - 1) / kTileCols, size = p.tile_size;
    const uint8_t* tile = static_cast<const uint8_t*>(p.table) + (token / kUnitRows * tiles + c / kTileCols) * size;
    read_tile(tile, p.bits, p.group, p.has_min, token % kUnitRows, c % kTileCols, v);
  } else {
    read_eight(static_cast<const X*>(p.table) + int64_t(token) * p.cols + c, v);
  }
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] *= p.scale;
  write_eight(p.out + int64_t(row) * p.cols + c, v);
}

}  // namespace hone::cuda
