#include "kernels/linear/wgmma_rows.cuh"

template void hone::cuda::launch_wgmma<hone::cuda::Type::f16>(const Linear&, const Device&, cudaStream_t);
