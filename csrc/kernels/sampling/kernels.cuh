// A cluster of blocks draws the token of one row; a block reports its likelihoods.
#pragma once
#include "kernels/sampling/draw.cuh"

namespace hone::cuda {

constexpr int kSampleThreads = 512, kLogprobThreads = 768;

// Dynamic shared memory: DrawMemory, then the part of the row where p.cached.
template <class T>
__global__ void __launch_bounds__(kSampleThreads, 1) sample_rows(const __grid_constant__ Sampling p) {
  extern __shared__ __align__(16) uint8_t shared[];
  DrawMemory& memory = *reinterpret_cast<DrawMemory*>(shared);
  launch_dependents();
  wait_for_dependencies();
#if HONE_CLUSTERS
  const ClusterTeam team(memory.meeting);
  team.sync();  // all blocks have begun: their memory can be reached
#else
  const BlockTeam team(memory.meeting);
#endif
  const int index = int(blockIdx.x) / team.blocks(), part = part_of(p.vocab, team.blocks()), begin = min(team.block() * part, p.vocab);
  const SampleRow s = p.settings[index];
  int32_t* counts = s.slot < 0 ? nullptr : p.counts + int64_t(s.slot) * p.vocab;
  float* cache = p.cached ? reinterpret_cast<float*>(shared + sizeof(DrawMemory)) : nullptr;
  const float* bias = s.bias_slot < 0 ? nullptr : p.biases + int64_t(s.bias_slot) * p.vocab;
  const Logits<T> row{static_cast<const T*>(p.logits) + index * p.stride, counts, bias, s.repetition, s.presence, s.frequency, p.vocab, begin, min(begin + part, p.vocab), cache};
  const int token = draw(row, s, team, memory);
  team.sync();  // all have read the counts, and each other's memory
  if (team.rank() != 0) return;
  p.tokens[index] = token;
  if (counts) counts[token]++;
}

// log(sum(exp(x))) of raw logits, then the token's own and the likeliest, best first.
template <class T>
__global__ void __launch_bounds__(kLogprobThreads, 1) logprobs_of_rows(const __grid_constant__ Logprobs p) {
  __shared__ Meeting meeting;
  const SampleRow s = p.settings[blockIdx.x];
  if (s.num_logprobs < 0) return;
  const Logits<T> row{static_cast<const T*>(p.logits) + blockIdx.x * p.stride, nullptr, nullptr, 1.f, 0.f, 0.f, p.vocab, 0, p.vocab, nullptr};
  const BlockTeam team(meeting);
  const auto next_best = [&](uint64_t below) {
    uint64_t best = 0;
    row.each(team, [&](int id, float x) {
      const uint64_t key = uint64_t(order_of(x)) << 32 | uint32_t(~id);
      if (x == x && key < below && key > best) best = key;
    });
    return team.maximum(best);
  };
  uint64_t best = next_best(~0ull);
  const float largest = from_order(uint32_t(best >> 32));
  uint64_t mass = 0, total;
  row.each(team, [&](int, float x) { mass += __float2uint_rn(expf(x - largest) * 4294967296.f); });
  team.sum_before(mass, total);
  const float norm = largest + float(log(double(total) * 0x1.0p-32));
  if (team.rank() == 0) p.logprobs[blockIdx.x] = row.at(p.tokens[blockIdx.x]) - norm;
  const int n = min(min(s.num_logprobs, p.width), p.vocab);
  for (int i = 0; i < n && best; i++, best = next_best(best)) {
    if (team.rank() != 0) continue;
    p.top_ids[int64_t(blockIdx.x) * p.width + i] = int32_t(~uint32_t(best));
    p.top_logprobs[int64_t(blockIdx.x) * p.width + i] = from_order(uint32_t(best >> 32)) - norm;
  }
}

}  // namespace hone::cuda
