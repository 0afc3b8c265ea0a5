// The border of sampling on the GPU: checks with the argument's name, then the kernel of the logits' type.
#include "kernels/rows/start.cuh"
#include "kernels/sampling/kernels.cuh"

namespace hone::cuda {
namespace {

void check(int rows, int vocab, int64_t stride) {
  const auto reject = [](const char* name, int64_t got, const std::string& wanted) {
    throw std::invalid_argument(std::string(name) + ": got " + std::to_string(got) + ", wanted " + wanted);
  };
  if (rows < 0) reject("rows", rows, "0 or more");
  if (vocab <= 0 || vocab > kMaxVocab) reject("vocab", vocab, "1 to " + std::to_string(kMaxVocab));
  if (stride < vocab) reject("stride", stride, "at least vocab");
}

template <class P>
using Kernel = void (*)(P);

template <class P>
Kernel<P> of_type(Number type, Kernel<P> half, Kernel<P> bfloat, Kernel<P> full) {
  return type == Number::f16 ? half : type == Number::bf16 ? bfloat : full;
}

}  // namespace

void sample(const Sampling& call, const Device& device, cudaStream_t stream) {
  check(call.rows, call.vocab, call.stride);
  if (!call.rows) return;
  Sampling p = call;
  const auto kernel = of_type<Sampling>(p.type, sample_rows<__half>, sample_rows<__nv_bfloat16>, sample_rows<float>);
  // As many blocks a row as all rows still find room for at once: 76 us for one row by 8, but 360 for 64 of them.
  const int blocks = device.capability < 90 ? 1 : p.rows <= 8 ? kMaxBlocks : p.rows <= 24 ? 4 : 2;
  const int64_t cache_bytes = int64_t(part_of(p.vocab, blocks)) * 4, memory = sizeof(DrawMemory);
  p.cached = memory + cache_bytes <= device.shared_bytes - 1024;
  const Queue queue{device.capability, true, stream};
  start_rows(kernel, p, dim3(unsigned(p.rows * blocks)), kSampleThreads, int(memory + (p.cached ? cache_bytes : 0)), queue, "sample", blocks);
}

void logprobs(const Logprobs& p, cudaStream_t stream) {
  check(p.rows, p.vocab, p.stride);
  if (!p.rows) return;
  const auto kernel = of_type<Logprobs>(p.type, logprobs_of_rows<__half>, logprobs_of_rows<__nv_bfloat16>, logprobs_of_rows<float>);
  start_rows(kernel, p, dim3(unsigned(p.rows)), kLogprobThreads, 0, Queue{0, false, stream}, "logprobs");
}

}  // namespace hone::cuda
