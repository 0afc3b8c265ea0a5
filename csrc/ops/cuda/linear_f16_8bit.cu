#include "kernels/linear/launch.cuh"

template void hone::cuda::launch_linear<hone::cuda::Type::f16, 8>(const Linear&, const Device&, cudaStream_t);
