#include "kernels/linear/launch.cuh"

template void hone::cuda::launch_linear<hone::cuda::Type::f16, hone::cuda::kPair>(const Linear&, const Device&, cudaStream_t);
