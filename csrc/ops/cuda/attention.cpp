// The border of attention on the GPU: checks with the argument's name, then the kernels of the type.
#include "kernels/attention/attention.hpp"

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace hone::cuda {
namespace {

[[noreturn]] void reject(const std::string& name, const std::string& got, const std::string& wanted) {
  throw std::invalid_argument(name + ": got " + got + ", wanted " + wanted);
}

void check_device(const Device& device) {
  if (device.capability < 80) reject("device", "compute capability " + std::to_string(device.capability / 10), "8.0 or later");
}

void check_address(const char* name, const void* address) {
  if (reinterpret_cast<uintptr_t>(address) % 16) reject(name, "an address that 16 does not divide", "16-byte alignment");
}

void check_cache(const KVPages& c, int heads) {
  const std::string dim = std::to_string(c.head_dim);
  if (c.head_dim <= 0 || c.head_dim > kMaxHeadDim || c.head_dim % 16) reject("head_dim", dim, "a multiple of 16 up to 256");
  if (c.bits != 16 && c.bits != 8 && c.bits != 4) reject("cache", std::to_string(c.bits) + " bits", "16, 8 or 4");
  if (c.bits != 16 && c.head_dim % 32) reject("head_dim", dim, "a multiple of 32 for a quantized cache");
  if (c.page_shift < 4) reject("page_size", std::to_string(1 << c.page_shift), "16 or more");
  if (c.kv_heads <= 0 || heads <= 0 || heads % c.kv_heads)
    reject("num_heads", std::to_string(heads), "a multiple of the cache's " + std::to_string(c.kv_heads) + " heads");
  check_address("cache.keys", c.keys), check_address("cache.values", c.values);
  if (c.bits != 16) check_address("cache.key_scales", c.key_scales), check_address("cache.value_scales", c.value_scales);
}

void check_stride(const char* name, int64_t stride, int64_t least, const void* address) {
  if (stride < least || stride % 8)
    reject(name, "a row stride of " + std::to_string(stride), "a multiple of 8, at least " + std::to_string(least));
  check_address(name, address);
}

}  // namespace

extern template void launch_attention<Type::f16, 16>(const AttentionCall&, const Device&, cudaStream_t);
extern template void launch_attention<Type::f16, 8>(const AttentionCall&, const Device&, cudaStream_t);
extern template void launch_attention<Type::f16, 4>(const AttentionCall&, const Device&, cudaStream_t);
extern template void launch_attention<Type::bf16, 16>(const AttentionCall&, const Device&, cudaStream_t);
extern template void launch_attention<Type::bf16, 8>(const AttentionCall&, const Device&, cudaStream_t);
extern template void launch_attention<Type::bf16, 4>(const AttentionCall&, const Device&, cudaStream_t);
extern template void launch_rope_store<Type::f16, 16>(const RopeStoreCall&, const Device&, cudaStream_t);
extern template void launch_rope_store<Type::f16, 8>(const RopeStoreCall&, const Device&, cudaStream_t);
extern template void launch_rope_store<Type::f16, 4>(const RopeStoreCall&, const Device&, cudaStream_t);
extern template void launch_rope_store<Type::bf16, 16>(const RopeStoreCall&, const Device&, cudaStream_t);
extern template void launch_rope_store<Type::bf16, 8>(const RopeStoreCall&, const Device&, cudaStream_t);
extern template void launch_rope_store<Type::bf16, 4>(const RopeStoreCall&, const Device&, cudaStream_t);

void attention(const AttentionCall& c, const Device& device, cudaStream_t stream) {
  check_device(device);
  check_cache(c.p.cache, c.p.heads);
  check_stride("qkv", c.p.ldq, int64_t(c.p.heads) * c.p.cache.head_dim, c.p.q);
  check_stride("out", c.p.ldo, int64_t(c.p.heads) * c.p.cache.head_dim, c.p.out);
  if (c.p.seqs < 0 || c.p.seqs > 65535) reject("rows", std::to_string(c.p.seqs) + " sequences", "0 to 65535");
  if (c.p.split < 64 || c.p.split % 64) reject("split", std::to_string(c.p.split), "a multiple of 64");
  if (c.p.window < 0) reject("window", std::to_string(c.p.window), "0 (none) or more");
  if (!(c.p.scale > 0.f)) reject("scale", std::to_string(c.p.scale), "more than 0");
  if (!(c.p.softcap >= 0.f)) reject("softcap", std::to_string(c.p.softcap), "0 (none) or more");
  if (c.max_context < 0) reject("max_context", std::to_string(c.max_context), "0 or more");
  if (c.p.seqs == 0) return;
  const bool f16 = c.type == Type::f16;
  switch (c.p.cache.bits) {
    case 16: return f16 ? launch_attention<Type::f16, 16>(c, device, stream) : launch_attention<Type::bf16, 16>(c, device, stream);
    case 8: return f16 ? launch_attention<Type::f16, 8>(c, device, stream) : launch_attention<Type::bf16, 8>(c, device, stream);
    default: return f16 ? launch_attention<Type::f16, 4>(c, device, stream) : launch_attention<Type::bf16, 4>(c, device, stream);
  }
}

void rope_store(const RopeStoreCall& c, const Device& device, cudaStream_t stream) {
  check_device(device);
  check_cache(c.p.cache, c.p.heads);
  check_stride("qkv", c.p.ld, int64_t(c.p.heads + 2 * c.p.cache.kv_heads) * c.p.cache.head_dim, c.p.qkv);
  if (c.p.half < 0 || c.p.half % 2 || c.p.half * 2 > c.p.cache.head_dim)
    reject("inv_freq", std::to_string(c.p.half) + " frequencies", "an even number, at most half of head_dim " + std::to_string(c.p.cache.head_dim));
  if (c.p.rows == 0) return;
  const bool f16 = c.type == Type::f16;
  switch (c.p.cache.bits) {
    case 16: return f16 ? launch_rope_store<Type::f16, 16>(c, device, stream) : launch_rope_store<Type::bf16, 16>(c, device, stream);
    case 8: return f16 ? launch_rope_store<Type::f16, 8>(c, device, stream) : launch_rope_store<Type::bf16, 8>(c, device, stream);
    default: return f16 ? launch_rope_store<Type::f16, 4>(c, device, stream) : launch_rope_store<Type::bf16, 4>(c, device, stream);
  }
}

}  // namespace hone::cuda
