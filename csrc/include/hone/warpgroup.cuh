// Products of a warpgroup (wgmma, sm_90a): 64 rows in registers by 16, 32 or 64 columns in shared memory.
// Rules of use: fence() before the first product and after registers it reads were written; commit() closes a batch; wait() before
// its results are read or the shared memory it reads is written. What threads stored must pass fence_shared() and a barrier first.
#pragma once
#include "hone/device.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HONE_WARPGROUP 1
#else
#define HONE_WARPGROUP 0
#endif

namespace hone::device::warpgroup {

// Keep a value in a register.
__device__ __forceinline__ void keep(int& v) { asm volatile("" : "+r"(v)); }
template <class T>
__device__ __forceinline__ void keep(const T*& p) {
  asm volatile("" : "+l"(p));
}

// 16 bytes past L1, in program order.
__device__ __forceinline__ uint4 load_16(const void* from) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from) : "memory");
  return v;
}

#if HONE_WARPGROUP

__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until at most PENDING of the latest batches are under way.
template <int PENDING>
__device__ __forceinline__ void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

__device__ __forceinline__ void fence_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Keep the compiler from moving reads or writes of operands across a fence or a wait.
template <int N>
__device__ __forceinline__ void pin(float (&c)[N]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+f"(c[i])::"memory");
}

template <int N>
__device__ __forceinline__ void pin(uint32_t (&a)[N][4]) {
#pragma unroll
  for (int i = 0; i < N; i++) asm volatile("" : "+r"(a[i][0]), "+r"(a[i][1]), "+r"(a[i][2]), "+r"(a[i][3])::"memory");
}

// Rows of 128 bytes (64 numbers along k), 8 of them in 1,024 bytes, 16-byte pieces swizzled by row % 8; the base is 1,024-byte aligned.
// 16 numbers further along k: 2 more.
__device__ __forceinline__ uint64_t descriptor(const void* base) {
  return uint64_t((shared_address(base) & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

#define HONE_F4(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define HONE_A4 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])

#define HONE_PRODUCTS(TYPE)                                                                                                          \
  template <>                                                                                                                        \
  __device__ __forceinline__ void Product<HONE_TYPE>::run(float (&c)[8], const uint32_t (&a)[4], uint64_t b, int add) {               \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %13, 0;\nwgmma.mma_async.sync.aligned.m64n16k16.f32." TYPE "." TYPE                 \
                 " {%0,%1,%2,%3,%4,%5,%6,%7},{%8,%9,%10,%11},%12,p,1,1,0;\n}"                                                         \
                 : HONE_F4(0), HONE_F4(4)                                                                                            \
                 : HONE_A4, "l"(b), "r"(add));                                                                                       \
  }                                                                                                                                  \
  template <>                                                                                                                        \
  __device__ __forceinline__ void Product<HONE_TYPE>::run(float (&c)[16], const uint32_t (&a)[4], uint64_t b, int add) {              \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32." TYPE "." TYPE                 \
                 " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15},{%16,%17,%18,%19},%20,p,1,1,0;\n}"                         \
                 : HONE_F4(0), HONE_F4(4), HONE_F4(8), HONE_F4(12)                                                                   \
                 : HONE_A4, "l"(b), "r"(add));                                                                                       \
  }                                                                                                                                  \
  template <>                                                                                                                        \
  __device__ __forceinline__ void Product<HONE_TYPE>::run(float (&c)[32], const uint32_t (&a)[4], uint64_t b, int add) {              \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE                 \
                 " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,"   \
                 "%30,%31},{%32,%33,%34,%35},%36,p,1,1,0;\n}"                                                                         \
                 : HONE_F4(0), HONE_F4(4), HONE_F4(8), HONE_F4(12), HONE_F4(16), HONE_F4(20), HONE_F4(24), HONE_F4(28)               \
                 : HONE_A4, "l"(b), "r"(add));                                                                                       \
  }

// c = a b, or c += a b if `add`. c: 4 numbers for each 8 columns, as mma.m16n8k16 has them; a: the warp's 16 rows, as there.
template <class T>
struct Product {
  static __device__ __forceinline__ void run(float (&c)[8], const uint32_t (&a)[4], uint64_t b, int add);
  static __device__ __forceinline__ void run(float (&c)[16], const uint32_t (&a)[4], uint64_t b, int add);
  static __device__ __forceinline__ void run(float (&c)[32], const uint32_t (&a)[4], uint64_t b, int add);
};

#define HONE_TYPE __half
HONE_PRODUCTS("f16")
#undef HONE_TYPE
#define HONE_TYPE __nv_bfloat16
HONE_PRODUCTS("bf16")
#undef HONE_TYPE
#undef HONE_PRODUCTS
#undef HONE_A4
#undef HONE_F4

#endif
}  // namespace hone::device::warpgroup
