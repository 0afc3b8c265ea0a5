// Product of few activation rows with a quantized matrix: what the launcher takes. No framework, no CUDA header but the stream.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace hone::cuda {

constexpr int kUnitRows = 16;    // weight rows of a tile
constexpr int kTileCols = 128;   // weight columns of a tile
constexpr int kBandUnits = 8;    // the packed matrix is padded to bands of 128 rows
constexpr int kMaxRows = 64;     // activation rows of one launch
constexpr int kMaxBands = 4096;  // counters a workspace holds

enum class Type { f16, bf16 };

constexpr int kMaxRuns = 16;     // of tiles of one width along the columns of a mixed matrix

// Tiles of one width and group size, one behind the other along a unit.
struct Run {
  int first_tile, first_byte, tile_bytes, bits, group;
};

struct Runs {
  Run run[kMaxRuns];
  int count = 0;  // 0: the matrix has one width, see Linear
};

// A form of kernels: mixed, but of 8 and then 4 bits in groups of 128 alone, which cost the same to unpack.
constexpr int kPair = 48;

// Of the numbers that stand for a form: a width, 0 or kPair. Whether `runs` say which tile has which width.
template <int BITS>
constexpr bool kMixed = BITS == 0 || BITS == kPair;

inline bool is_pair(const Runs& runs) {
  if (runs.count < 1 || runs.count > 2) return false;
  for (int i = 0; i < runs.count; i++)
    if (runs.run[i].group != kTileCols || (runs.run[i].bits != 4 && (runs.run[i].bits != 8 || i > 0))) return false;
  return true;
}

struct Linear {
  const uint8_t* tiles;  // packed, see tile.cuh
  const void* x;         // (rows, cols), row stride ldx elements, 16-byte aligned rows
  void* y;               // (rows, outs), row stride outs; fp32 if wide_out, else as x
  float* partials;       // workspace_floats() of them
  int* counters;         // kMaxBands zeros; left as zeros
  int rows, cols, outs, ldx;
  int bits, group;       // bits 0: as `runs` say
  bool has_min;
  Type type;
  bool wide_out;
  bool overlap;          // start before the kernel before has ended (its results are waited for)
  int warps = 0, ring_bytes = 0, slices = 0;  // 0: chosen by the launcher
  Runs runs{};
  bool invariant = false;  // one kernel and one division of columns for any number of rows
};

struct Device {
  int sms, shared_bytes, capability;
};

inline int64_t tile_bytes(int bits, int group, bool has_min) {
  return kUnitRows * kTileCols * bits / 8 + (kTileCols / group) * kUnitRows * 2 * (has_min ? 2 : 1);
}

// Byte of a unit at which its tile `tile` begins, also the one behind the last; and the largest tile.
inline int64_t unit_bytes(const Runs& runs, int tiles) {
  const Run& last = runs.run[runs.count - 1];
  return last.first_byte + int64_t(tiles - last.first_tile) * last.tile_bytes;
}

inline int largest_tile(const Runs& runs) {
  int most = 0;
  for (int i = 0; i < runs.count; i++) most = runs.run[i].tile_bytes > most ? runs.run[i].tile_bytes : most;
  return most;
}

// Of a pair of `tiles`: how many are of 8 bits.
inline int wide_tiles(const Runs& runs, int tiles) { return runs.run[0].bits != 8 ? 0 : runs.count > 1 ? runs.run[1].first_tile : tiles; }

inline int64_t padded_units(int64_t outs) { return (outs + 127) / 128 * kBandUnits; }

inline int64_t packed_bytes(int64_t outs, int64_t cols, int bits, int group, bool has_min) {
  return padded_units(outs) * ((cols + kTileCols - 1) / kTileCols) * tile_bytes(bits, group, has_min);
}

// Floats of workspace that serve any product on this device.
inline int64_t workspace_floats(const Device& device) {
  const int64_t many = int64_t(device.sms) * 2 * 128 * kMaxRows, few = int64_t(1) << 22;
  return many > few ? many : few;
}

Device device_of(int index);                                                   // throws std::runtime_error
void linear(const Linear& call, const Device& device, cudaStream_t stream);    // at most kMaxRows rows; throws likewise

template <Type TYPE, int BITS>
void launch_linear(const Linear& call, const Device& device, cudaStream_t stream);

}  // namespace hone::cuda
