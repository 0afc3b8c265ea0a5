// The products with quantized weights, launched as on a device of any size.
#include "hone/device.cuh"
#include "kernels/linear/wgmma_rows.cuh"

using namespace hone::cuda;

namespace {

template <class T>
void launch(const Linear& c, const Device& device) {
  if (is_pair(c.runs)) return launch_rows<T, kPair>(c, device, nullptr);
  c.bits == 0 ? launch_rows<T, 0>(c, device, nullptr) : c.bits == 4 ? launch_rows<T, 4>(c, device, nullptr) : launch_rows<T, 8>(c, device, nullptr);
}

}  // namespace

// shape: rows, cols, outs. form: bits, group, has_min, bf16. runs: first tile, bits, group of each. device: multiprocessors, capability.
// how: batch-invariant, blocks in reverse, by warpgroups where they serve. False where the launcher refused; it says why.
extern "C" bool emulate_product(const uint8_t* tiles, const void* x, float* y, float* partials, int* counters, const int* shape, const int* form,
                                const int* runs, int num_runs, const int* device, const int* how) {
  Linear c{};
  c.tiles = tiles, c.x = x, c.y = y, c.partials = partials, c.counters = counters;
  c.rows = shape[0], c.cols = c.ldx = shape[1], c.outs = shape[2];
  c.bits = form[0], c.group = form[1], c.has_min = form[2], c.type = form[3] ? Type::bf16 : Type::f16;
  c.wide_out = true, c.invariant = how[0];
  reverse_blocks = how[1];
  for (int i = 0; i < num_runs; i++) {
    const int tile = runs[3 * i], bits = runs[3 * i + 1], group = runs[3 * i + 2];
    const int64_t first = i ? unit_bytes(c.runs, tile) : 0;
    c.runs.run[c.runs.count++] = {tile, int(first), int(tile_bytes(bits, group, c.has_min)), bits, group};
  }
  const Device made{device[0], (device[1] >= 90 ? 227 : 163) * 1024, device[1]};
  try {
    if (how[2] && serves_wgmma(c, made))
      form[3] ? launch_wgmma<Type::bf16>(c, made, nullptr) : launch_wgmma<Type::f16>(c, made, nullptr);
    else
      form[3] ? launch<__nv_bfloat16>(c, made) : launch<__half>(c, made);
  } catch (const std::exception& error) {
    fprintf(stderr, "%s\n", error.what());
    return false;
  }
  return true;
}
