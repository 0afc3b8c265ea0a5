#include "kernels/attention/launch.cuh"

template void hone::cuda::launch_attention<hone::cuda::Type::bf16, 4>(const AttentionCall&, const Device&, cudaStream_t);
template void hone::cuda::launch_rope_store<hone::cuda::Type::bf16, 4>(const RopeStoreCall&, const Device&, cudaStream_t);
