// The choice of the next token of each row; see hone_engine.kernels.sample for the meaning of the arrays.
#pragma once
#include <cstdint>

#include "hone/kernels.hpp"
#include "hone/thread_pool.hpp"

namespace hone {

struct SampleArgs {
  int64_t rows, vocab, ld;
  const float* logits;
  const float *temperature, *top_p, *min_p, *typical, *repetition, *presence, *frequency;
  const int32_t *top_k, *num_logprobs, *prompt_lens;
  const uint64_t* seeds;
  const int64_t* positions;
  const int32_t* const* histories;
  const int64_t* history_lens;
  const float* const* biases;   // (vocab) each, or null
  int64_t width;                // columns of top_ids
  int32_t* tokens;
  float* logprobs;
  int32_t* top_ids;
  float* top_logprobs;
};

void sample_rows(const SampleArgs& args, const SamplingKernels& k, int threads);
void greedy_rows(const float* logits, int64_t rows, int64_t vocab, int64_t ld, const SamplingKernels& k, int32_t* tokens);
double counter_uniform(uint64_t seed, int64_t position);

}  // namespace hone
