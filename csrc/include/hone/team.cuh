// Threads of a block, or of a cluster of blocks, working together: sums, maxima and running sums over all, in one order whatever the
// timing. Algorithms take the team as a parameter, so that a program on the CPU can check them with threads of its own.
#pragma once
#include <cstdint>

#include "hone/device.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define HONE_CLUSTERS 1
#else
#define HONE_CLUSTERS 0
#endif

namespace hone::device {

constexpr int kMaxBlocks = 8;

// Numbers that meet: one a warp, and one a block, for two meetings in turn.
struct Meeting {
  uint64_t places[32];
  uint64_t blocks[2][kMaxBlocks];
};

#if defined(__CUDACC__)
class BlockTeam {
 public:
  __device__ explicit BlockTeam(Meeting& meeting) : meeting_(meeting) {}
  __device__ __forceinline__ int rank() const { return int(threadIdx.x); }
  __device__ __forceinline__ int size() const { return int(blockDim.x); }
  __device__ __forceinline__ void sync() const { __syncthreads(); }

  __device__ __forceinline__ uint64_t warp_sum(uint64_t v) const {
    for (int apart = 16; apart; apart /= 2) v += __shfl_xor_sync(~0u, v, apart);
    return v;
  }

  __device__ uint64_t maximum(uint64_t v) const {
    for (int apart = 16; apart; apart /= 2) v = larger(v, __shfl_xor_sync(~0u, v, apart));
    sync();
    if (rank() % 32 == 0) meeting_.places[rank() / 32] = v;
    sync();
    v = rank() % 32 < size() / 32 ? meeting_.places[rank() % 32] : 0;
    for (int apart = 16; apart; apart /= 2) v = larger(v, __shfl_xor_sync(~0u, v, apart));
    return v;
  }

  // The sum of all ranks below; `total` becomes that of all.
  __device__ uint64_t sum_before(uint64_t v, uint64_t& total) const {
    const int lane = rank() % 32, warp = rank() / 32;
    uint64_t upto = v;
    for (int apart = 1; apart < 32; apart *= 2) {
      const uint64_t other = __shfl_up_sync(~0u, upto, apart);
      if (lane >= apart) upto += other;
    }
    sync();
    if (lane == 31) meeting_.places[warp] = upto;
    sync();
    uint64_t before = 0;
    total = 0;
    for (int w = 0; w < size() / 32; w++) {
      if (w == warp) before = total;
      total += meeting_.places[w];
    }
    return before + upto - v;
  }

  // fp32 sum of all, added in one order.
  __device__ float sum(float v) const {
    for (int apart = 16; apart; apart /= 2) v += __shfl_xor_sync(~0u, v, apart);
    sync();
    if (rank() % 32 == 0) meeting_.places[rank() / 32] = __float_as_uint(v);
    sync();
    v = rank() % 32 < size() / 32 ? __uint_as_float(uint32_t(meeting_.places[rank() % 32])) : 0.f;
    for (int apart = 16; apart; apart /= 2) v += __shfl_xor_sync(~0u, v, apart);
    return v;
  }

  __device__ __forceinline__ uint32_t add(uint32_t* place, uint32_t v) const { return atomicAdd(place, v); }

  // Of several blocks: how many, which this is, an object of the first one's, a word of all theirs summed up.
  __device__ __forceinline__ int blocks() const { return 1; }
  __device__ __forceinline__ int block() const { return 0; }
  template <class V>
  __device__ __forceinline__ V* first(V* own) const {
    return own;
  }
  __device__ __forceinline__ uint64_t total(const uint32_t* own) const { return *own; }

 private:
  static __device__ __forceinline__ uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }
  Meeting& meeting_;
};

#if HONE_CLUSTERS
// The blocks of a cluster. None may end while another still looks at its memory: sync before.
class ClusterTeam {
 public:
  __device__ explicit ClusterTeam(Meeting& meeting) : own_(meeting), meeting_(meeting) {
    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(block_));
    asm("mov.u32 %0, %cluster_nctaid.x;" : "=r"(blocks_));
  }
  __device__ __forceinline__ int blocks() const { return blocks_; }
  __device__ __forceinline__ int block() const { return block_; }
  __device__ __forceinline__ int rank() const { return block_ * int(blockDim.x) + int(threadIdx.x); }
  __device__ __forceinline__ int size() const { return blocks_ * int(blockDim.x); }
  __device__ __forceinline__ void sync() const {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
  }
  template <class V>
  __device__ __forceinline__ V* of(V* own, int block) const {
    uint64_t address;
    asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(own), "r"(block));
    return reinterpret_cast<V*>(address);
  }
  template <class V>
  __device__ __forceinline__ V* first(V* own) const {
    return of(own, 0);
  }
  __device__ __forceinline__ uint64_t total(const uint32_t* own) const {
    uint32_t words[kMaxBlocks];  // all on their way at once
#pragma unroll
    for (int b = 0; b < kMaxBlocks; b++) words[b] = b < blocks_ ? *of(own, b) : 0;
    uint64_t sum = 0;
#pragma unroll
    for (int b = 0; b < kMaxBlocks; b++) sum += words[b];
    return sum;
  }
  __device__ __forceinline__ uint64_t warp_sum(uint64_t v) const { return own_.warp_sum(v); }
  __device__ __forceinline__ uint32_t add(uint32_t* place, uint32_t v) const { return atomicAdd(place, v); }

  __device__ uint64_t maximum(uint64_t v) const {
    const uint64_t* all = share(own_.maximum(v));
    v = 0;
    for (int b = 0; b < blocks_; b++) v = all[b] > v ? all[b] : v;
    return v;
  }

  __device__ uint64_t sum_before(uint64_t v, uint64_t& total) const {
    uint64_t own, before = own_.sum_before(v, own);
    const uint64_t* all = share(own);
    total = 0;
    for (int b = 0; b < blocks_; b++) {
      if (b == block_) before += total;
      total += all[b];
    }
    return before;
  }

 private:
  // One number of each block, in every block. Two buffers in turn: who writes one has met all who read it before.
  __device__ const uint64_t* share(uint64_t v) const {
    uint64_t* buffer = meeting_.blocks[turn_ ^= 1];
    if (int(threadIdx.x) < blocks_) *of(buffer + block_, int(threadIdx.x)) = v;
    sync();
    return buffer;
  }

  BlockTeam own_;
  Meeting& meeting_;
  int block_, blocks_;
  mutable int turn_ = 0;
};
#endif
#endif

}  // namespace hone::device
