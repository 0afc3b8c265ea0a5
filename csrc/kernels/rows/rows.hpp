// Work on activation rows between the products: what the launchers take. No framework, no CUDA header but the stream.
// T is fp16 or bf16; "wide" is fp32. The residual stream is wide, what products read and write is T. Columns are multiples of 8
// and rows lie one behind the other, 16-byte aligned.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/linear/linear.hpp"

namespace hone::cuda {

// How a launch relates to the kernel before it: its results are waited for inside where `overlap`.
struct Queue {
  int capability;
  bool overlap;
  cudaStream_t stream;
};

// v = x (+ delta), kept = v; out = v / sqrt(mean(v^2) + eps) * weight.
struct Norm {
  const void* x;        // wide or T
  bool wide;
  const void* delta;    // T, or null
  const int32_t* picks; // row i of the result is row picks[i] of x and delta; null: row i
  const float* weight;  // (cols)
  const int32_t* order; // column c of out is column order[c] of the norm; null: as they are
  float* kept;          // wide, or null; may be x
  void* out;            // T
  int rows, cols;
  float eps;
};

enum class Gate { silu, gelu_tanh };

struct Gated {
  const void* gate_up;  // T (rows, 2 * cols), gate before up
  const int32_t* order; // column c of out is column order[c] of the product; null: as they are
  void* out;            // T (rows, cols)
  int rows, cols;
  Gate gate;
};

// out[i][c] = x[picks[i]][order[c]] + y[picks[i]][order[c]] + bias[order[c]]
struct Sum {
  const void* x;
  const void* y;          // T, or null
  const float* bias;      // (cols), or null
  const int32_t* picks;   // null: row i
  const int32_t* order;   // null: as they are
  void* out;
  bool wide_x, wide_out;  // else T
  int rows, cols;
};

enum class Table { f16, bf16, f32, tiles };

struct Embed {
  const void* table;      // (vocab, cols), or tiles of tile.cuh
  Table kind;
  int bits, group;        // of tiles
  bool has_min;
  const int32_t* tokens;  // (rows); -1 - i: what `latest[i]` says
  const int32_t* latest;
  float* out;             // wide
  int rows, cols, vocab;
  float scale;
  int tile_size = 0;      // set by the launcher
};

struct Dequantize {
  const uint8_t* tiles;
  int bits, group;            // bits 0: as `runs` say
  bool has_min;
  int cols, first_row, rows;  // the weight's columns, and which of its rows; first_row is a multiple of 16
  void* out;                  // T (rows, cols)
  Runs runs{};
  int tile_size = 0;          // set by the launcher
};

void norm(const Norm& call, Type type, const Queue& queue);          // throw std::invalid_argument, std::runtime_error
void gated(const Gated& call, Type type, const Queue& queue);
void sum_rows(const Sum& call, Type type, const Queue& queue);
void embed(const Embed& call, const Queue& queue);
void dequantize(const Dequantize& call, Type type, const Queue& queue);

}  // namespace hone::cuda
