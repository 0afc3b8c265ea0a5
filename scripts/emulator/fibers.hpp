// A block of CUDA threads as fibers of one thread of the CPU: barriers, shuffles and what else warps do together.
// Blocks run one after another, so it checks what kernels compute, not how blocks race; a block's copies land at once, which shows a
// buffer that is filled while it is still read.
#pragma once
#include <cuda_runtime.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__
#undef __forceinline__
#define __forceinline__ inline
#undef __noinline__
#define __noinline__

namespace emulator {

struct Fiber {
  ucontext_t context;
  std::vector<char> stack;
  int thread;
  bool done;
};

struct Barrier {
  int arrived = 0, generation = 0;
};

inline std::vector<Fiber> fibers;
inline ucontext_t scheduler;
inline std::function<void()> body;
inline int current, num_threads, block, num_blocks;
inline std::vector<uint8_t> memory;
inline uint8_t* shared;
inline Barrier of_block;
inline std::vector<Barrier> of_warps;
inline std::vector<std::vector<char>> slots;

inline void yield() { swapcontext(&fibers[size_t(current)].context, &scheduler); }
inline int thread() { return fibers[size_t(current)].thread; }
inline int lane() { return thread() % 32; }

inline void wait(Barrier& b, int count) {
  const int generation = b.generation;
  if (++b.arrived == count) {
    b.arrived = 0;
    b.generation++;
  } else {
    while (b.generation == generation) yield();
  }
}

inline void warp_sync() { wait(of_warps[size_t(thread() / 32)], 32); }

// What every lane of the warp brought, at most 64 bytes each.
inline void gather(const void* mine, void* all, size_t num_bytes) {
  auto& slot = slots[size_t(thread() / 32)];
  slot.resize(32 * 64);
  memcpy(slot.data() + size_t(lane()) * num_bytes, mine, num_bytes);
  warp_sync();
  memcpy(all, slot.data(), 32 * num_bytes);
  warp_sync();
}

inline void entry() {
  body();
  fibers[size_t(current)].done = true;
  yield();
}

inline void begin(int threads) {
  memset(memory.data(), 0xff, memory.size());
  of_block = Barrier{};
  of_warps.assign(size_t(threads / 32), Barrier{});
  slots.resize(size_t(threads / 32));
  for (int t = 0; t < threads; t++) {
    Fiber& fiber = fibers[size_t(t)];
    fiber.thread = t, fiber.done = false;
    fiber.stack.resize(128 << 10);
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data(), fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, entry, 0);
  }
}

// All blocks of a launch, in either order.
inline void run(int blocks, int threads, size_t shared_bytes, const std::function<void()>& kernel, bool reverse) {
  num_threads = threads, num_blocks = blocks, body = kernel;
  memory.resize(shared_bytes + 256);
  shared = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory.data()) + 127) & ~uintptr_t(127));
  if (int(fibers.size()) < threads) fibers.resize(size_t(threads));
  for (int b = 0; b < blocks; b++) {
    block = reverse ? blocks - 1 - b : b;
    begin(threads);
    for (int left = threads; left;) {
      left = 0;
      for (current = 0; current < threads; current++) {
        if (!fibers[size_t(current)].done) swapcontext(&scheduler, &fibers[size_t(current)].context);
        left += !fibers[size_t(current)].done;
      }
    }
  }
}

struct Place {
  int x;
};

}  // namespace emulator

#define threadIdx (emulator::Place{emulator::thread()})
#define blockIdx (emulator::Place{emulator::block})
#define blockDim (emulator::Place{emulator::num_threads})
#define gridDim (emulator::Place{emulator::num_blocks})

inline void __syncthreads() { emulator::wait(emulator::of_block, emulator::num_threads); }
inline void __syncwarp() { emulator::warp_sync(); }
template <class V>
V __shfl_xor_sync(unsigned, V mine, int apart) {
  V all[32];
  emulator::gather(&mine, all, sizeof(V));
  return all[emulator::lane() ^ apart];
}
inline float __uint_as_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = uint64_t(b) << 32 | a;
  uint32_t found = 0;
  for (int i = 0; i < 4; i++) found |= uint32_t(uint8_t(both >> (8 * (selector >> (4 * i) & 7)))) << (8 * i);
  return found;
}
template <class V>
void __stcg(V* to, V value) {
  *to = value;
}
template <class V>
V __ldcg(const V* from) {
  return *from;
}
using std::max;
using std::min;
