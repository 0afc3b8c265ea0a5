// The border of the row kernels: checks with the argument's name, then the kernel of the types.
#include "kernels/rows/elementwise.cuh"
#include "kernels/rows/norm.cuh"
#include "kernels/rows/start.cuh"
#include "kernels/rows/tiles.cuh"

namespace hone::cuda {
namespace {

constexpr int kMaxCols = 16384;  // of a norm: a row is kept in shared memory

void check(int rows, int cols, const char* what) {
  const auto reject = [&](const std::string& got, const std::string& wanted) {
    throw std::invalid_argument(std::string(what) + ": got " + got + ", wanted " + wanted);
  };
  if (rows < 0) reject(std::to_string(rows) + " rows", "0 or more");
  if (cols <= 0 || cols % 8) reject(std::to_string(cols) + " columns", "a multiple of 8");
}

void check_tiles(int bits, int group) {
  if (bits != 4 && bits != 8) throw std::invalid_argument("bits: got " + std::to_string(bits) + ", wanted 4 or 8");
  if (group != 32 && group != 64 && group != 128) throw std::invalid_argument("group: got " + std::to_string(group) + ", wanted 32, 64 or 128");
}

dim3 column_blocks(int rows, int cols) { return dim3(unsigned(cols / 8 + kColumnThreads - 1) / kColumnThreads, unsigned(rows < 32768 ? rows : 32768)); }

template <class T>
void start_norm(const Norm& p, const Queue& queue) {
  const int threads = p.cols >= 8192 ? 1024 : (p.cols / 8 + 31) / 32 * 32, shared_bytes = p.cols * 4;
  start_rows(p.wide ? norm_rows<T, float> : norm_rows<T, T>, p, dim3(unsigned(p.rows)), threads, shared_bytes, queue, "norm");
}

template <class T>
void start_sum(const Sum& p, const Queue& queue) {
  void (*kernel)(Sum) = p.wide_x ? (p.wide_out ? sum_of_rows<T, float, float> : sum_of_rows<T, float, T>)
                                 : (p.wide_out ? sum_of_rows<T, T, float> : sum_of_rows<T, T, T>);
  start_rows(kernel, p, column_blocks(p.rows, p.cols), kColumnThreads, 0, queue, "sum");
}

}  // namespace

void norm(const Norm& p, Type type, const Queue& queue) {
  check(p.rows, p.cols, "norm");
  if (p.cols > kMaxCols) throw std::invalid_argument("norm: got " + std::to_string(p.cols) + " columns, wanted at most " + std::to_string(kMaxCols));
  if (p.rows) type == Type::f16 ? start_norm<__half>(p, queue) : start_norm<__nv_bfloat16>(p, queue);
}

void gated(const Gated& p, Type type, const Queue& queue) {
  check(p.rows, p.cols, "gated");
  if (p.rows) start_rows(type == Type::f16 ? gate_rows<__half> : gate_rows<__nv_bfloat16>, p, column_blocks(p.rows, p.cols), kColumnThreads, 0, queue, "gated");
}

void sum_rows(const Sum& p, Type type, const Queue& queue) {
  check(p.rows, p.cols, "sum");
  if (p.rows) type == Type::f16 ? start_sum<__half>(p, queue) : start_sum<__nv_bfloat16>(p, queue);
}

void embed(const Embed& call, const Queue& queue) {
  Embed p = call;
  check(p.rows, p.cols, "embed");
  if (p.kind == Table::tiles) {
    check_tiles(p.bits, p.group);
    p.tile_size = int(tile_bytes(p.bits, p.group, p.has_min));
  }
  if (!p.rows) return;
  if (p.rows > 65535) throw std::invalid_argument("embed: got " + std::to_string(p.rows) + " rows, wanted at most 65535");
  void (*kernel)(Embed) = p.kind == Table::f16    ? embed_rows<__half>
                          : p.kind == Table::bf16 ? embed_rows<__nv_bfloat16>
                          : p.kind == Table::f32  ? embed_rows<float>
                                                  : embed_rows<void>;
  start_rows(kernel, p, dim3(unsigned(p.cols / 8 + 255) / 256, unsigned(p.rows)), 256, 0, queue, "embed");
}

void dequantize(const Dequantize& call, Type type, const Queue& queue) {
  Dequantize p = call;
  check(p.rows, p.cols, "dequantize");
  if (p.bits) {
    check_tiles(p.bits, p.group);
    p.tile_size = int(tile_bytes(p.bits, p.group, p.has_min));
  }
  if (p.first_row % kUnitRows) throw std::invalid_argument("first_row: got " + std::to_string(p.first_row) + ", wanted a multiple of 16");
  if (!p.rows) return;
  const dim3 blocks(unsigned(p.cols + 2 * kTileCols - 1) / (2 * kTileCols), unsigned(p.rows + kUnitRows - 1) / kUnitRows);
  const bool half = type == Type::f16;
  void (*kernel)(Dequantize) = p.bits ? half ? dequantize_rows<__half> : dequantize_rows<__nv_bfloat16> : half ? dequantize_mixed<__half> : dequantize_mixed<__nv_bfloat16>;
  start_rows(kernel, p, blocks, 256, 0, queue, "dequantize");
}

}  // namespace hone::cuda
