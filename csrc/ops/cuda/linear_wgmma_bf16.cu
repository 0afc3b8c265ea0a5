#include "kernels/linear/wgmma_rows.cuh"

template void hone::cuda::launch_wgmma<hone::cuda::Type::bf16>(const Linear&, const Device&, cudaStream_t);
