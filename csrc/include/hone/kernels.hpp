// The tables of kernels: one a family and instruction set, filled by csrc/cpu/<family>/<family>_<set>.cpp.
#pragma once
#include <cstdint>

#include "hone/system.hpp"

namespace hone {

constexpr int kUnitRows = 32;    // weight rows that lie together in one sequential stream
constexpr int kGroup = 32;       // columns that share a scale, of weights and of int8 activations
constexpr int kTile = 8;         // activation rows that are multiplied together
constexpr int kBlock = 16;       // positions of the KV cache whose keys lie side by side
constexpr int kChunk = 128;      // positions whose softmax is taken together; results merge in order of chunks

enum class Format { q4, q4_min, q8, q8_min, f16, bf16, f32 };
constexpr int kNumFormats = 7;
inline bool is_integer(Format f) { return f <= Format::q8_min; }

// Bytes of one group of 32 columns (integer formats) or of one column (others) of a unit.
inline int64_t step_bytes(Format f) {
  switch (f) {
    case Format::q4: return 512 + 64;
    case Format::q4_min: return 512 + 128;
    case Format::q8: return 1024 + 64;
    case Format::q8_min: return 1024 + 128;
    case Format::f16: case Format::bf16: return 64;
    default: return 128;
  }
}
inline int64_t unit_bytes(Format f, int64_t cols) { return step_bytes(f) * (is_integer(f) ? cols / kGroup : cols); }

// Activations of a tile of T rows, T <= 8. Integer form: a group of 32 columns is 44 T bytes:
//   int8 codes [8 quads][T][4], fp32 scales [T], int32 -8 * sum of codes [T], fp32 scale * sum of codes [T].
// Float form: fp32 [cols][T].
constexpr int kActGroupBytes = 44;
inline int64_t act_row_bytes(bool integer, int64_t cols) { return integer ? cols / kGroup * kActGroupBytes : cols * 4; }

// out[t * ldo + r] (=, or += if add) sum over columns of unit row r times activation row t; 32 rows are written.
using UnitKernel = void (*)(const uint8_t* unit, const uint8_t* act, int64_t steps, float* out, int64_t ldo, bool add);

struct LinearKernels {
  UnitKernel unit[kNumFormats][kTile + 1];   // [format][T], T = 1..8
};

// Rows first .. first + count of a tile of T.
struct TileRows {
  int T, first, count;
};

struct RowKernels {
  // Rows x[i * ldx], optionally normalized (weight != nullptr), into some rows of a tile. tmp: cols floats.
  void (*act_quantize)(const float* x, int64_t ldx, TileRows place, int64_t cols, const float* weight, float eps, uint8_t* act, float* tmp);
  void (*act_float)(const float* x, int64_t ldx, TileRows place, int64_t cols, const float* weight, float eps, uint8_t* act, float* tmp);
  // silu(gate) * up for 32 columns of T rows (stride 32), written as group `group` of a tile in either form.
  void (*swiglu_quantize)(const float* gate, const float* up, int T, int64_t group, uint8_t* act);
  void (*swiglu_float)(const float* gate, const float* up, int T, int64_t group, uint8_t* act);
  void (*rms_norm)(const float* x, const float* weight, int64_t cols, float eps, float* out);
  void (*swiglu)(const float* gate, const float* up, int64_t cols, float* out);
  void (*add)(const float* x, const float* y, int64_t cols, float* out);
  void (*rope)(float* x, const float* cos, const float* sin, int64_t half);
  void (*to_half)(const float* x, int64_t n, uint16_t* out);
};

// One KV head of one sequence: how its pages are found.
struct KvView {
  const uint8_t* keys;          // of the layer in page 0: (kv_heads, page_size / 16, head_dim, 16)
  const uint8_t* values;        // of the layer in page 0: (kv_heads, page_size, head_dim)
  const int32_t* pages;         // of the sequence
  int64_t page_bytes;           // from a page to the next
  int64_t head_offset;          // bytes of this head within a page
  int page_shift;               // log2(page_size)
  int head_dim;
};

// Partial attention of `num` query vectors over one chunk of positions.
struct ChunkArgs {
  KvView kv;
  const float* q;               // (head_dim, num) scaled
  int num;                      // query vectors
  const int32_t* last;          // (num) last position that each may see
  const int32_t* first;         // (num) first position that each may see
  int begin, end;               // positions of the chunk that any of them may see; begin is a multiple of 16
  float* scores;                // scratch (num, kChunk) and 16 more: blocks may be scored in pairs
  float* block;                 // scratch (head_dim, 32)
  bool asked;                   // the first keys were asked for by the chunk before
  int next, next_end;           // positions whose keys are read after this chunk (next -1: none), to be asked for
  int64_t next_head;            // bytes from this head's part of a page to that of those keys
  float* max;                   // out (num)
  float* sum;                   // out (num)
  float* out;                   // out (num, head_dim), not normalized
};

struct AttentionKernels {
  void (*chunk_half)(const ChunkArgs&);
  void (*chunk_float)(const ChunkArgs&);
  // Merge a chunk's (max, sum, out) into the running ones; running max -inf: copy.
  void (*merge)(float* run_max, float* run_sum, float* run_out, float max, float sum, const float* out, int head_dim);
};

struct SamplingKernels {
  int32_t (*argmax)(const float* x, int64_t n);                        // lowest index of the largest
  float (*max)(const float* x, int64_t n);
  double (*exp_sum)(const float* x, int64_t n, float max, float scale, float* out);  // out = exp((x - max) * scale), or no out
};

struct Kernels {
  const LinearKernels* linear;
  const RowKernels* rows;
  const AttentionKernels* attention;
  const SamplingKernels* sampling;
};

#define HONE_TABLES(SET)                              \
  extern const LinearKernels linear_kernels_##SET;    \
  extern const RowKernels row_kernels_##SET;          \
  extern const AttentionKernels attention_kernels_##SET; \
  extern const SamplingKernels sampling_kernels_##SET;
HONE_TABLES(scalar)
HONE_TABLES(avx2)
HONE_TABLES(avx512)

Kernels kernels_of(Simd level);

}  // namespace hone
