// Which instance, how many blocks and how much shared memory; then the launches themselves.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/attention/decode.cuh"
#include "kernels/attention/prefill.cuh"
#include "kernels/attention/rope_store.cuh"

namespace hone::cuda {

template <class P>
void start_kernel(void (*kernel)(P), const P& p, dim3 blocks, int threads, int64_t shared_bytes, bool overlap, const Device& device, cudaStream_t stream,
                  const char* name) {
  const auto must = [&](cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(std::string(name) + ": " + cudaGetErrorString(error));
  };
  must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared_bytes)));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(unsigned(threads));
  config.dynamicSmemBytes = size_t(shared_bytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = overlap && device.capability >= 90 ? 1 : 0;
  must(cudaLaunchKernelEx(&config, kernel, p));
}

template <class T, int BITS, int DIM>
void launch_decode(const AttentionCall& c, const Device& device, cudaStream_t stream) {
  const int group = c.p.heads / c.p.cache.kv_heads;
  Decode d{c.p, 0, head_tiles(c.p.heads, c.p.cache.kv_heads), std::min(group, kHeadsATile)};
  using Sixteen = Chunk<T, BITS, DIM>;
  const int64_t stage = kDecodeWarps * Sixteen::stage_bytes, all = device.shared_bytes - 128;
  const int64_t meeting = meeting_bytes<BITS, DIM>(d.heads_a_tile) + (BITS == 16 ? 0 : kDecodeWarps * Sixteen::unpacked_bytes);
  const int pairs = c.p.cache.kv_heads * d.head_tiles * c.p.seqs;
  // Blocks on a multiprocessor. Two stream 16 bits at 85 % of the memory's rate. Codes take their warps longer to unpack than to read, and
  // many short contexts are over before a ring pays: more blocks, then, with shorter rings.
  const bool many_short = BITS == 16 && c.max_context <= 1024 && pairs > 2 * device.sms;
  const int together = many_short ? 5 : BITS == 16 ? 2 : 4;
  const int64_t budget = (device.shared_bytes + 1024) / together - 1024 - 128;
  const int64_t least = std::min<int64_t>(many_short ? 1 : 2, (all - meeting) / stage);
  d.stages = int(std::clamp<int64_t>(std::max(least, (budget - meeting) / stage), 1, BITS == 16 ? 4 : 8));
  if (d.stages * stage + meeting > all) throw std::runtime_error("attention: this device has too little shared memory for heads of this size");
  // Blocks along the parts: six times what the device holds at once, where every one finds as many parts; of short contexts no more than it
  // holds, since contexts shorter than the bound leave the rest with nothing to do.
  const int parts = std::clamp((c.max_context + c.p.split - 1) / c.p.split + (c.p.window > 0), 1, kMaxSplits);
  const int wanted = std::clamp((device.sms * (c.max_context <= 1024 ? 2 : 12) + pairs - 1) / pairs, 1, parts), each = (parts + wanted - 1) / wanted;
  const int along = (parts + each - 1) / each;
  start_kernel(attention_decode<T, BITS, DIM>, d, dim3(unsigned(c.p.cache.kv_heads * d.head_tiles), unsigned(c.p.seqs), unsigned(along)), kDecodeWarps * 32,
               d.stages * stage + meeting, c.overlap, device, stream, "launch of attention (one query)");
}

template <class T, int BITS, int DIM>
void launch_prefill(const AttentionCall& c, const Device& device, cudaStream_t stream) {
  const int tiles = c.prefill_rows / Tile<DIM>::queries + std::min(c.p.seqs, c.prefill_rows / 2);
  start_kernel(attention_prefill<T, BITS, DIM>, c.p, dim3(unsigned(c.p.heads), unsigned(tiles)), kPrefillWarps * 32, Tile<DIM>::shared_bytes, c.overlap, device,
               stream, "launch of attention (several queries)");
}

template <class T, int BITS, int DIM>
void launch_both(const AttentionCall& c, const Device& device, cudaStream_t stream) {
  if (c.decode) launch_decode<T, BITS, DIM>(c, device, stream);
  if (c.prefill_rows > 1) launch_prefill<T, BITS, DIM>(c, device, stream);
}

// Heads of other sizes use the next larger instance; what is more is zeros in shared memory alone.
template <Type TYPE, int BITS>
void launch_attention(const AttentionCall& c, const Device& device, cudaStream_t stream) {
  using T = std::conditional_t<TYPE == Type::f16, __half, __nv_bfloat16>;
  c.p.cache.head_dim <= 64    ? launch_both<T, BITS, 64>(c, device, stream)
  : c.p.cache.head_dim <= 128 ? launch_both<T, BITS, 128>(c, device, stream)
                              : launch_both<T, BITS, 256>(c, device, stream);
}

template <Type TYPE, int BITS>
void launch_rope_store(const RopeStoreCall& c, const Device& device, cudaStream_t stream) {
  using T = std::conditional_t<TYPE == Type::f16, __half, __nv_bfloat16>;
  // With few rows each warp takes one head; with many, all warps of a row share its angles.
  const int along = c.p.rows >= 512 ? 1 : (c.p.heads + 2 * c.p.cache.kv_heads + kRopeWarps - 1) / kRopeWarps;
  start_kernel(rope_store_rows<T, BITS>, c.p, dim3(unsigned(c.p.rows), unsigned(along)), kRopeWarps * 32, 0, c.overlap, device, stream, "launch of rope_store");
}

}  // namespace hone::cuda
