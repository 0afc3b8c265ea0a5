// Paged attention on the GPU: what the launchers take. No framework, no CUDA header but the stream.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/linear/linear.hpp"

namespace hone::cuda {

constexpr int kMaxSplits = 32;      // partial results of one query head in decoding
constexpr int kMaxHeadDim = 256;
constexpr int kHeadsATile = 8;      // query heads of one key head that a block of decoding serves

// One layer of a paged cache: (pages, kv_heads, page tokens, head_dim) of keys and likewise of values, in codes of `bits`, see chunk.cuh.
struct KVPages {
  void *keys, *values, *key_scales, *value_scales;  // scales: fp16, one of 32 numbers; none at 16 bits
  int kv_heads, head_dim, page_shift, bits;         // a page holds 1 << page_shift tokens; bits 16, 8 or 4
  const int* table;                    // (sequences, table_stride) pages of each sequence in order
  int table_stride;

  // Index of the first number of a token, in elements; `page` is a number out of the table.
  __host__ __device__ int64_t at(int page, int kv_head, int token) const {
    return ((((int64_t(page) * kv_heads + kv_head) << page_shift) + (token & ((1 << page_shift) - 1))) * head_dim);
  }
};

struct Attention {
  const void* q;
  void* out;
  int64_t ldq, ldo;         // row strides in elements
  KVPages cache;
  const int* context_lens;  // (seqs,) tokens of each sequence, this step's included
  const int* first_rows;    // (seqs + 1,) rows of sequence s: first_rows[s] to first_rows[s + 1] - 1, the latest tokens
  int seqs, heads, window;  // window 0: none
  float scale, softcap;     // softcap 0: none
  int split;                // tokens of a partial result in decoding, a multiple of 64
  float* partials;          // attention_floats() of them
  int* counters;            // seqs * kv_heads * head tiles zeros; left as zeros
};

struct AttentionCall {
  Attention p;
  Type type;
  int max_context;   // no context is longer; sizes the grid of decoding
  bool decode;       // some sequence may have one row
  int prefill_rows;  // rows, at most, of sequences with several
  bool overlap;      // start before the kernel before has ended (its results are waited for)
};

struct RopeStore {
  void* qkv;              // (rows, heads + 2 kv_heads, head_dim): q, then k, then v
  int64_t ld;             // row stride in elements
  KVPages cache;
  const float* inv_freq;  // (half,)
  const int *positions, *seq_of_row;
  int rows, heads, half;
  float factor;
};

struct RopeStoreCall {
  RopeStore p;
  Type type;
  bool overlap;
};

inline int head_tiles(int heads, int kv_heads) { return (heads / kv_heads + kHeadsATile - 1) / kHeadsATile; }

// Floats of workspace of decoding.
inline int64_t attention_floats(int64_t seqs, int64_t heads, int64_t head_dim) { return seqs * heads * kMaxSplits * (head_dim + 2); }

void attention(const AttentionCall& call, const Device& device, cudaStream_t stream);    // throws as linear() does
void rope_store(const RopeStoreCall& call, const Device& device, cudaStream_t stream);

template <Type TYPE, int BITS>
void launch_attention(const AttentionCall& call, const Device& device, cudaStream_t stream);
template <Type TYPE, int BITS>
void launch_rope_store(const RopeStoreCall& call, const Device& device, cudaStream_t stream);

}  // namespace hone::cuda
