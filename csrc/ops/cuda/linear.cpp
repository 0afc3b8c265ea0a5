// The border of the CUDA products: checks with the argument's name, then the kernel of the type and width.
#include "kernels/linear/wgmma.hpp"

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace hone::cuda {
namespace {

[[noreturn]] void reject(const std::string& name, const std::string& got, const std::string& wanted) {
  throw std::invalid_argument(name + ": got " + got + ", wanted " + wanted);
}

void check_group(int group) {
  if (group != 32 && group != 64 && group != 128) reject("group", std::to_string(group), "32, 64 or 128");
}

void check_runs(const Runs& runs, int tiles) {
  if (runs.count < 1 || runs.count > kMaxRuns) reject("runs", std::to_string(runs.count), "1 to " + std::to_string(kMaxRuns));
  for (int i = 0; i < runs.count; i++) {
    const Run& r = runs.run[i];
    if (r.bits < 2 || r.bits > 8 || r.bits == 7) reject("runs", std::to_string(r.bits) + " bits", "2, 3, 4, 5, 6 or 8");
    check_group(r.group);
    const bool follows = i == 0 ? r.first_tile == 0 : r.first_tile > runs.run[i - 1].first_tile;
    if (!follows || r.first_tile >= tiles) reject("runs", "a first tile of " + std::to_string(r.first_tile), "rising ones from 0, below " + std::to_string(tiles));
  }
}

void check(const Linear& c) {
  if (c.rows < 0 || c.rows > kMaxRows) reject("x", std::to_string(c.rows) + " rows", "0 to " + std::to_string(kMaxRows));
  if (c.cols <= 0 || c.cols % 32) reject("cols", std::to_string(c.cols), "a multiple of 32");
  if (c.cols > 1 << 16) reject("cols", std::to_string(c.cols), "at most 65536");
  if (c.outs <= 0) reject("outs", std::to_string(c.outs), "1 or more");
  if (padded_units(c.outs) / kBandUnits > kMaxBands) reject("outs", std::to_string(c.outs), "at most " + std::to_string(kMaxBands * 128));
  if (c.bits == 0)
    check_runs(c.runs, (c.cols + kTileCols - 1) / kTileCols);
  else if (c.bits != 4 && c.bits != 8)
    reject("bits", std::to_string(c.bits), "4 or 8, or 0 with runs");
  else
    check_group(c.group);
  if (c.ldx < c.cols || c.ldx % 8) reject("x", "a row stride of " + std::to_string(c.ldx), "a multiple of 8, at least " + std::to_string(c.cols));
  if (reinterpret_cast<uintptr_t>(c.x) % 16) reject("x", "an address that 16 does not divide", "16-byte alignment");
  if (reinterpret_cast<uintptr_t>(c.y) % 8) reject("out", "an address that 8 does not divide", "8-byte alignment");
  if (reinterpret_cast<uintptr_t>(c.tiles) % 16) reject("weight", "an address that 16 does not divide", "16-byte alignment");
}

int attribute(cudaDeviceAttr what, int index) {
  int value = 0;
  const cudaError_t error = cudaDeviceGetAttribute(&value, what, index);
  if (error != cudaSuccess) throw std::runtime_error("device " + std::to_string(index) + ": " + cudaGetErrorString(error));
  return value;
}

}  // namespace

extern template void launch_linear<Type::f16, 4>(const Linear&, const Device&, cudaStream_t);
extern template void launch_linear<Type::f16, 8>(const Linear&, const Device&, cudaStream_t);
extern template void launch_linear<Type::bf16, 4>(const Linear&, const Device&, cudaStream_t);
extern template void launch_linear<Type::bf16, 8>(const Linear&, const Device&, cudaStream_t);
extern template void launch_linear<Type::f16, 0>(const Linear&, const Device&, cudaStream_t);
extern template void launch_linear<Type::bf16, 0>(const Linear&, const Device&, cudaStream_t);
extern template void launch_linear<Type::f16, kPair>(const Linear&, const Device&, cudaStream_t);
extern template void launch_linear<Type::bf16, kPair>(const Linear&, const Device&, cudaStream_t);
extern template void launch_wgmma<Type::f16>(const Linear&, const Device&, cudaStream_t);
extern template void launch_wgmma<Type::bf16>(const Linear&, const Device&, cudaStream_t);

Device device_of(int index) {
  return {attribute(cudaDevAttrMultiProcessorCount, index), attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, index),
          attribute(cudaDevAttrComputeCapabilityMajor, index) * 10 + attribute(cudaDevAttrComputeCapabilityMinor, index)};
}

void linear(const Linear& c, const Device& device, cudaStream_t stream) {
  check(c);
  if (device.capability < 80) reject("device", "compute capability " + std::to_string(device.capability / 10), "8.0 or later");
  if (c.rows == 0) return;
  const bool half = c.type == Type::f16;
  if (is_pair(c.runs)) return half ? launch_linear<Type::f16, kPair>(c, device, stream) : launch_linear<Type::bf16, kPair>(c, device, stream);
  if (c.bits == 0) return half ? launch_linear<Type::f16, 0>(c, device, stream) : launch_linear<Type::bf16, 0>(c, device, stream);
  if (half)
    c.bits == 4 ? launch_linear<Type::f16, 4>(c, device, stream) : launch_linear<Type::f16, 8>(c, device, stream);
  else
    c.bits == 4 ? launch_linear<Type::bf16, 4>(c, device, stream) : launch_linear<Type::bf16, 8>(c, device, stream);
}

void linear(const Linear& c, const Device& device, cudaStream_t stream, int wgmma_rows) {
  const bool too_few = c.rows < wgmma_rows && !c.invariant;
  if (wgmma_rows <= 0 || too_few || !serves_wgmma(c, device)) return linear(c, device, stream);
  check(c);
  c.type == Type::f16 ? launch_wgmma<Type::f16>(c, device, stream) : launch_wgmma<Type::bf16>(c, device, stream);
}

}  // namespace hone::cuda
