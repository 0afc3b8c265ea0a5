// Choosing tokens on the GPU: what the launchers take. No framework, no CUDA header but the stream.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/linear/linear.hpp"

namespace hone::cuda {

constexpr int kMaxVocab = 400'000;
constexpr int kPromptToken = 1 << 30;  // flag in a token's count: it stands in the prompt

enum class Number { f16, bf16, f32 };

// One row's settings, 56 bytes, as the host packs them. Neutral values switch a step off.
struct SampleRow {
  float temperature = 0.f;  // 0: the likeliest, the lowest id of several
  int32_t top_k = 0;
  float top_p = 1.f, min_p = 0.f, typical = 1.f;
  float repetition = 1.f, presence = 0.f, frequency = 0.f;
  int32_t slot = -1;       // whose counts the penalties look at; -1: no penalty
  int32_t bias_slot = -1;  // whose bias is added after them; -1: none
  uint32_t seed_low = 0, seed_high = 0;
  int32_t position = 0;  // tokens before the one drawn
  int32_t num_logprobs = -1;
};
static_assert(sizeof(SampleRow) == 56);

struct Sampling {
  const void* logits;  // (rows, vocab), row stride `stride` elements
  Number type;
  int rows, vocab;
  int64_t stride;
  const SampleRow* settings;  // (rows)
  int32_t* counts;            // (slots, vocab): times generated, plus kPromptToken; the token drawn is counted
  const float* biases;        // (slots, vocab), -inf for a token that may not be drawn
  int32_t* tokens;            // (rows): result
  bool cached = false;        // set by the launcher: shared memory holds the row
};

struct Logprobs {
  const void* logits;
  Number type;
  int rows, vocab;
  int64_t stride;
  const SampleRow* settings;
  const int32_t* tokens;
  int width;             // places a row in the two below
  float* logprobs;       // (rows): of the token; only rows with num_logprobs >= 0 are written
  int32_t* top_ids;      // (rows, width): likeliest first
  float* top_logprobs;
};

void sample(const Sampling& call, const Device& device, cudaStream_t stream);  // throws std::invalid_argument, std::runtime_error
void logprobs(const Logprobs& call, cudaStream_t stream);                   // likewise

}  // namespace hone::cuda
