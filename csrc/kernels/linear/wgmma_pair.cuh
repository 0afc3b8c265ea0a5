// y = x W^T for 9 to 64 activation rows and a matrix of 4 and 8 bits, symmetric and in groups of 128, on Hopper: linear_wgmma
// (wgmma_rows.cuh) with a branch where it unpacks. Both widths take as many instructions, so blocks are balanced by tiles, and unlike
// in linear_wgmma_mixed a tile is unpacked ahead whatever the width of the one before.
#pragma once
#include "kernels/linear/wgmma_rows.cuh"

namespace hone::cuda {

#if HONE_WARPGROUP
// A half of a tile of either width.
template <class T>
__device__ __forceinline__ void unpack_half(const uint8_t* tile, bool wide, int half, uint32_t (&a)[4][4], int lane) {
  if (wide)
    unpack_some<T, 8, 4>(tile, half, a, lane, 128.f);
  else
    unpack_some<T, 4, 4>(tile, half, a, lane, 8.f);
}
#endif

template <class T, int ROWS>
__global__ void __launch_bounds__(kWgmmaThreads, 1) linear_wgmma_pair(const __grid_constant__ ManyRows p) {
#if HONE_WARPGROUP
  extern __shared__ __align__(128) uint8_t shared[];
  __shared__ TileTable table;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int pieces = p.bands * p.pieces_a_band, blocks = gridDim.x;
  const int begin = first_piece(pieces, blockIdx.x, blocks), end = first_piece(pieces, blockIdx.x + 1, blocks);
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

  const uint8_t* tile = ring.wait();
  bool wide = table.entries[at_0].bits() == 8;
  uint32_t a[2][4][4];  // the half in flight, and the one that is unpacked meanwhile
  unpack_half<T>(tile, wide, 0, a[0], lane);
  float acc[ROWS / 2] = {}, c[ROWS / 2];
  int at = at_0, slot = 0;
  for (int piece = begin; piece < end; piece++, slot ^= 1) {
    __syncthreads();  // this piece's activations are stored, the products that read the other slot are done
    const uint64_t activations = warpgroup::descriptor(slots + slot * kSlotBytes<ROWS>);
    const bool next_wide = table.entries[at + 1 == p.pieces_a_band ? 0 : at + 1].bits() == 8;
    const uint8_t* following = tile;
#pragma unroll
    for (int b = 0; b < 2; b++) {
      warpgroup::pin(c);
      warpgroup::fence();
#pragma unroll
      for (int s = 0; s < 4; s++) warpgroup::Product<T>::run(c, a[b][s], activations + b * (ROWS * 128 >> 4) + s * 2, b + s > 0);
      warpgroup::commit();
      const bool stores = b == 1 && piece + 1 < end;
      if (stores) following = stage_after(ring);
      warpgroup::wait<1>();  // the half before has read its registers
      unpack_half<T>(b ? following : tile, b && stores ? next_wide : wide, b ^ 1, a[b ^ 1], lane);
      warpgroup::pin(a[b ^ 1]);
      if (stores) {
        x.store(slots + (slot ^ 1) * kSlotBytes<ROWS>, nullptr);
        warpgroup::fence_shared();
        __syncwarp();  // keeps the loads behind the fence, which would wait for them
        load_x();
      }
    }
    const __half* scales = reinterpret_cast<const __half*>(tile + (kUnitRows * kTileCols / 2 << wide)) + lane / 4;
    const float low = __half2float(scales[0]), high = __half2float(scales[8]);
    warpgroup::wait<0>();
    warpgroup::pin(c);
#pragma unroll
    for (int i = 0; i < ROWS / 2; i++) acc[i] = fmaf(i % 4 < 2 ? low : high, c[i], acc[i]);
    tile = following, wide = next_wide;
    ring.release();
    fetch_weights();
    if (++at == p.pieces_a_band || piece + 1 == end) {
      end_band<T, ROWS>(p, acc, piece / p.pieces_a_band, pieces);
      at = 0;
#pragma unroll
      for (int i = 0; i < ROWS / 2; i++) acc[i] = 0.f;
    }
  }
#endif
}

template <class T, int ROWS>
void launch_wgmma_pair_rows(const Linear& c, const Device& device, cudaStream_t stream) {
  ManyRows p{c.tiles, c.x, c.y, c.partials, c.counters, c.rows, c.cols, c.outs, c.ldx};
  p.tiles_a_unit = p.pieces_a_band = (c.cols + kTileCols - 1) / kTileCols;
  p.bands = int(padded_units(c.outs)) / kBandUnits;
  p.tile_size = largest_tile(c.runs);
  p.wide_out = c.wide_out, p.runs = c.runs;
  const int64_t fixed = kSwizzleBytes + 2 * kSlotBytes<ROWS>, stage = kBandUnits * (p.tile_size + 8);
  const int64_t budget = c.ring_bytes ? c.ring_bytes : device.shared_bytes / 2 - 1536 - int64_t(sizeof(TileTable));
  p.stages = int(std::clamp<int64_t>((budget - fixed) / stage, 3, 12));
  start(linear_wgmma_pair<T, ROWS>, p, std::min(device.sms, p.bands * p.pieces_a_band), kWgmmaThreads, fixed + p.stages * stage, c, device, stream);
}

template <class T>
void launch_wgmma_pair(const Linear& c, const Device& device, cudaStream_t stream) {
  if (c.rows > 32) return launch_wgmma_pair_rows<T, 64>(c, device, stream);
  c.rows > 16 ? launch_wgmma_pair_rows<T, 32>(c, device, stream) : launch_wgmma_pair_rows<T, 16>(c, device, stream);
}

}  // namespace hone::cuda
