// Which kernel, how many blocks and how much shared memory; then the launch itself.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/linear/few_mixed.cuh"
#include "kernels/linear/many_rows.cuh"

namespace hone::cuda {

inline void must(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

template <class P>
void start(void (*kernel)(P), P p, int blocks, int threads, int64_t shared_bytes, const Linear& call, const Device& device, cudaStream_t stream) {
  must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared_bytes)), "shared memory of linear");
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(unsigned(blocks));
  config.blockDim = dim3(unsigned(threads));
  config.dynamicSmemBytes = size_t(shared_bytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = call.overlap && device.capability >= 90 ? 1 : 0;
  must(cudaLaunchKernelEx(&config, kernel, p), "launch of linear");
}

template <class T, int BITS>
bool launch_few(const Linear& c, const Device& device, cudaStream_t stream) {
  FewRows p{c.tiles, c.x, c.y, c.partials, c.counters, c.rows, c.cols, c.outs, c.ldx};
  p.units = (c.outs + kUnitRows - 1) / kUnitRows;
  p.tiles_a_unit = (c.cols + kTileCols - 1) / kTileCols;
  p.tile_size = int(tile_bytes(BITS, c.group, c.has_min));
  p.unit_size = p.tiles_a_unit * p.tile_size;
  p.group = c.group, p.has_min = c.has_min, p.wide_out = c.wide_out;
  // More warps hide more, fewer start and end sooner: by the bytes a block streams.
  const int64_t block_bytes = int64_t(p.units) * p.unit_size / device.sms;
  const int warps = c.warps ? c.warps : block_bytes > 128 * 1024 || (p.rows > 4 && p.rows <= 8) ? 16 : 8;
  // The activations of all columns if they fit beside a ring of 40 kB: slices cost more than they save. The ring then takes what is
  // left of half a multiprocessor, so that two kernels share it while one starts and the other ends; of all of it, if half is too little.
  // Sums of several units meet at once: each meeting stops all warps.
  const int unit_sums = warps * p.rows * kUnitRows * 4, sums = std::max(unit_sums, p.rows > 1 ? 32 * 1024 : 8192);
  const int64_t all = device.shared_bytes - sums - 2048, half = device.shared_bytes / 2 - sums - 2048, least = 40 * 1024;
  const auto x_bytes = [&](int slices) { return int64_t(p.rows) * few_rows_stride(p.tiles_a_unit, slices); };
  p.slices = std::max(1, c.slices);
  while (p.slices < p.tiles_a_unit && p.slices < 16 && x_bytes(p.slices) > all - least) p.slices++;
  const int64_t ring = c.ring_bytes ? c.ring_bytes : (x_bytes(p.slices) > half - least ? all : half) - x_bytes(p.slices);
  p.stage_tiles = std::clamp(p.tiles_a_unit / p.slices / warps, 1, BITS == 8 ? 1 : 2);
  p.stages = int(std::clamp<int64_t>(ring / (warps * p.stage_tiles * p.tile_size), 2, 12));
  if (device.capability < 90) p.stages = std::min(p.stages, 8);
  const int ranges = std::clamp(device.sms / p.slices, 1, p.units);
  p.batch_units = std::clamp(sums / unit_sums, 1, (p.units + ranges - 1) / ranges);
  const int64_t shared_bytes = int64_t(warps) * p.stages * (p.stage_tiles * p.tile_size + 8) + int64_t(p.rows) * few_rows_stride(p.tiles_a_unit, p.slices) +
                               int64_t(p.batch_units) * unit_sums;
  void (*kernel)(FewRows) = c.rows > 8 ? linear_few_rows<T, BITS, 0, 2> : linear_few_rows<T, BITS, 32, 1>;
  if (c.rows <= 8 && c.group > 32) kernel = c.group == 128 ? linear_few_rows<T, BITS, 128, 1> : linear_few_rows<T, BITS, 64, 1>;
  if (shared_bytes > device.shared_bytes - 1024) return false;
  if (p.rows > 8 && (p.slices > 1 || warps > 8)) return false;  // many_rows is as fast there, or faster
  if (p.slices > 1 && int64_t(p.slices) * p.rows * p.units * kUnitRows > workspace_floats(device)) return false;
  start(kernel, p, ranges * p.slices, warps * 32, shared_bytes, c, device, stream);
  return true;
}

template <class T, int FORM>
bool launch_few_mixed(const Linear& c, const Device& device, cudaStream_t stream) {
  FewRows p{c.tiles, c.x, c.y, c.partials, c.counters, c.rows, c.cols, c.outs, c.ldx};
  p.units = (c.outs + kUnitRows - 1) / kUnitRows;
  p.tiles_a_unit = (c.cols + kTileCols - 1) / kTileCols;
  p.unit_size = unit_bytes(c.runs, p.tiles_a_unit);
  p.has_min = c.has_min, p.wide_out = c.wide_out, p.runs = c.runs;
  for (int i = 0; i < c.runs.count; i++) {
    const Run& run = c.runs.run[i];
    p.stage_size = std::max(p.stage_size, tiles_a_stage(run.bits) * run.tile_bytes);
    if (run.bits == 8) p.wide_size = run.tile_bytes, p.wide_tiles = i + 1 < c.runs.count ? c.runs.run[i + 1].first_tile : p.tiles_a_unit;
    if (run.bits == 4) p.tile_size = run.tile_bytes;
  }
  const int64_t block_bytes = p.units * p.unit_size / device.sms;
  const int warps = c.warps ? std::min(c.warps, kMostWarps) : block_bytes > 128 * 1024 || (p.rows > 4 && p.rows <= 8) ? 16 : 8;
  // Activations and ring as in launch_few. Sums of all units of a block are kept: more blocks have fewer.
  p.slices = std::max(1, c.slices);
  int ranges = 0;
  int64_t sums = 0;
  const auto divide = [&] {
    ranges = std::clamp(device.sms / p.slices, 1, p.units);
    const auto places = [&] { return (p.units + ranges - 1) / ranges + warps; };
    while (places() > 2 * warps && int64_t(places()) * p.rows * kUnitRows * 4 > 48 * 1024 && 2 * ranges <= std::min(p.units, kMaxBands)) ranges *= 2;
    p.batch_units = places(), sums = int64_t(p.batch_units) * p.rows * kUnitRows * 4;
  };
  divide();
  const int64_t least = 40 * 1024;
  const auto x_bytes = [&] { return int64_t(p.rows) * few_rows_stride(p.tiles_a_unit, p.slices); };
  const auto left = [&](int64_t of) { return of - sums - 2048 - x_bytes(); };
  while (p.slices < p.tiles_a_unit && p.slices < 16 && left(device.shared_bytes) < least) p.slices++, divide();
  const int64_t half = left(device.shared_bytes / 2), ring = c.ring_bytes ? c.ring_bytes : half < least ? left(device.shared_bytes) : half;
  p.stages = int(std::clamp<int64_t>(ring / (warps * p.stage_size), 2, device.capability < 90 ? 8 : 12));
  const int64_t shared_bytes = int64_t(warps) * p.stages * (p.stage_size + 8) + x_bytes() + sums;
  if (shared_bytes > device.shared_bytes - 1024) return false;
  if (p.rows > 8 && (p.slices > 1 || warps > 8)) return false;  // many_rows is as fast there, or faster
  if (p.slices > 1 && int64_t(p.slices) * p.rows * p.units * kUnitRows > workspace_floats(device)) return false;
  start(c.rows > 8 ? linear_few_mixed<T, FORM, 2> : linear_few_mixed<T, FORM, 1>, p, ranges * p.slices, warps * 32, shared_bytes, c, device, stream);
  return true;
}

template <class T, int BITS>
bool launch_at_most_16(const Linear& c, const Device& device, cudaStream_t stream) {
  if constexpr (kMixed<BITS>)
    return launch_few_mixed<T, BITS>(c, device, stream);
  else
    return launch_few<T, BITS>(c, device, stream);
}

template <class T, int BITS, int COLS, int PARTS>
bool launch_many(const Linear& c, const Device& device, cudaStream_t stream) {
  ManyRows p{c.tiles, c.x, c.y, c.partials, c.counters, c.rows, c.cols, c.outs, c.ldx};
  p.tiles_a_unit = (c.cols + kTileCols - 1) / kTileCols;
  p.pieces_a_band = (p.tiles_a_unit + PARTS - 1) / PARTS;
  p.bands = int(padded_units(c.outs)) / kBandUnits;
  p.tile_size = kMixed<BITS> ? largest_tile(c.runs) : int(tile_bytes(BITS, c.group, c.has_min));
  p.group = c.group, p.wide_out = c.wide_out, p.runs = c.runs;
  p.narrow_size = int(tile_bytes(4, kTileCols, c.has_min)), p.wide_tiles = wide_tiles(c.runs, p.tiles_a_unit);
  const int64_t sums = int64_t(COLS) * 8 * kSumStride * 4, x_stage = int64_t(COLS) * 8 * kPieceStride<PARTS>;
  const int64_t w_stage = int64_t(PARTS) * 4 * (2 * p.tile_size + 8), all = device.shared_bytes - 1024;
  // As many stages as half of a multiprocessor holds, so that the next kernel starts early; else all of it; else fewer rows a launch.
  const int64_t half = device.shared_bytes / 2 - 1536, least = 3 * w_stage + 3 * x_stage + sums;
  const int64_t budget = c.ring_bytes ? c.ring_bytes : least <= half ? half : all;
  p.x_stages = int(std::clamp<int64_t>((budget - sums - 2 * w_stage) / x_stage, 2, 3));
  p.stages = int(std::clamp<int64_t>((budget - sums - p.x_stages * x_stage) / w_stage, 2, 8));
  if (device.capability < 90) p.stages = p.x_stages = std::min(p.stages, p.x_stages);
  const int64_t shared_bytes = sums + p.x_stages * x_stage + p.stages * w_stage;
  if (shared_bytes > all) return false;
  const int blocks = std::min(device.sms, p.bands * p.pieces_a_band);
  void (*kernel)(ManyRows) = linear_many_rows<T, BITS, 0, COLS, PARTS>;
  if constexpr (COLS < 8)
    if (c.has_min) kernel = linear_many_rows<T, BITS, 1, COLS, PARTS>;
  start(kernel, p, blocks, PARTS * 128, shared_bytes, c, device, stream);
  return true;
}

template <class T, int BITS>
void launch_rows(Linear c, const Device& device, cudaStream_t stream);

// The first half of the rows, then the rest.
template <class T, int BITS>
void launch_halves(Linear c, const Device& device, cudaStream_t stream) {
  Linear rest = c;
  c.rows = (c.rows + 15) / 16 * 8;
  rest.rows -= c.rows;
  rest.x = static_cast<const T*>(c.x) + int64_t(c.rows) * c.ldx;
  rest.y = static_cast<uint8_t*>(c.y) + int64_t(c.rows) * c.outs * (c.wide_out ? 4 : 2);
  launch_rows<T, BITS>(c, device, stream);
  launch_rows<T, BITS>(rest, device, stream);
}

// A row's sums are taken in the order of tiles, parts and blocks, which follow from the weight and the device alone: COLS only says how
// many rows go along.
template <class T, int BITS>
void launch_invariant(const Linear& c, const Device& device, cudaStream_t stream) {
  if (c.rows <= 16 && launch_many<T, BITS, 2, 2>(c, device, stream)) return;
  if (c.rows > 16 && c.rows <= 32 && launch_many<T, BITS, 4, 2>(c, device, stream)) return;
  if (c.rows > 32 && !c.has_min && launch_many<T, BITS, 8, 2>(c, device, stream)) return;
  if (c.rows <= 16) throw std::runtime_error("linear: this device has too little shared memory");
  launch_halves<T, BITS>(c, device, stream);
}

template <class T, int BITS>
void launch_rows(Linear c, const Device& device, cudaStream_t stream) {
  if (c.invariant) return launch_invariant<T, BITS>(c, device, stream);
  if (c.rows <= 16 && launch_at_most_16<T, BITS>(c, device, stream)) return;
  if constexpr (BITS != 0)
    if (c.rows <= 16 && launch_many<T, BITS, 2, 4>(c, device, stream)) return;
  if (c.rows <= 16 && launch_many<T, BITS, 2, 2>(c, device, stream)) return;
  if (c.rows <= 8) throw std::runtime_error("linear: this device has too little shared memory");
  if (c.rows > 16 && c.rows <= 32 && launch_many<T, BITS, 4, 2>(c, device, stream)) return;
  // Minimums need the sums of 8 columns too, which registers do not hold.
  if (c.rows > 32 && !c.has_min && launch_many<T, BITS, 8, 2>(c, device, stream)) return;
  launch_halves<T, BITS>(c, device, stream);
}

template <Type TYPE, int BITS>
void launch_linear(const Linear& call, const Device& device, cudaStream_t stream) {
  launch_rows<std::conditional_t<TYPE == Type::f16, __half, __nv_bfloat16>, BITS>(call, device, stream);
}

}  // namespace hone::cuda
