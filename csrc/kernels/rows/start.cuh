// Launch of a kernel that may begin while the one before it ends.
#pragma once
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "kernels/rows/rows.hpp"

namespace hone::cuda {

template <class P>
void start_rows(void (*kernel)(P), P p, dim3 blocks, int threads, int shared_bytes, const Queue& queue, const char* what, int cluster = 1) {
  const auto require = [&](cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(std::string("launch of ") + what + ": " + cudaGetErrorString(error));
  };
  if (shared_bytes > 48 * 1024) require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  cudaLaunchAttribute attributes[2] = {};
  int count = 0;
  if (cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = unsigned(cluster), attributes[count].val.clusterDim.y = attributes[count].val.clusterDim.z = 1;
    count++;
  }
  if (queue.overlap && queue.capability >= 90) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count].val.programmaticStreamSerializationAllowed = 1;
    count++;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(unsigned(threads));
  config.dynamicSmemBytes = size_t(shared_bytes);
  config.stream = queue.stream;
  config.attrs = attributes;
  config.numAttrs = unsigned(count);
  require(cudaLaunchKernelEx(&config, kernel, p));
}

}  // namespace hone::cuda
