// The instructions of attention that C++ has no name for: 8x8 matrices between shared memory and registers, powers, ordered counting.
#pragma once
#include "hone/device.cuh"

namespace hone::cuda {

using namespace hone::device;

// Four 8x8 matrices of 16-bit numbers: lanes 8i to 8i+7 give the addresses of the rows of matrix i, 16 bytes each.
// Lane l gets numbers 2(l % 4) and the next of row l / 4 of each matrix.
__device__ __forceinline__ void load_matrices(uint32_t (&r)[4], const uint8_t* at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(at))
               : "memory");
}

// The same of the transposed matrices.
__device__ __forceinline__ void load_transposed(uint32_t (&r)[4], const uint8_t* at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(at))
               : "memory");
}

// An 8x8 matrix held as above, transposed in registers.
__device__ __forceinline__ uint32_t transpose(uint32_t v) {
  uint32_t r;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(v));
  return r;
}

// 2 to the power of v, within 2 units of the last place; 0 for -infinity.
__device__ __forceinline__ float power_of_two(float v) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
}

// Add 1 and return what was there; orders this thread's memory accesses, and those it has seen by a barrier, with the other blocks'.
__device__ __forceinline__ int count_up(int* counter) {
  int before;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}

}  // namespace hone::cuda
