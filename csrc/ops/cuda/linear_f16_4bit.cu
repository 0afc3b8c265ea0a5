#include "kernels/linear/launch.cuh"

template void hone::cuda::launch_linear<hone::cuda::Type::f16, 4>(const Linear&, const Device&, cudaStream_t);
