#include "hone/system.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <set>
#include <stdexcept>
#include <string>

#include "hone/kernels.hpp"

namespace hone {

const char* simd_name(Simd level) {
  static const char* names[] = {"scalar", "avx2", "avx512"};
  return names[int(level)];
}

bool simd_available(Simd level) {
  if (level == Simd::scalar) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (level == Simd::avx2) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

Simd simd_parse(const char* name) {
  for (Simd level : {Simd::scalar, Simd::avx2, Simd::avx512})
    if (!std::strcmp(name, simd_name(level))) {
      if (simd_available(level)) return level;
      throw std::invalid_argument(std::string("simd: got ") + name + ", which this CPU lacks");
    }
  throw std::invalid_argument(std::string("simd: got '") + name + "', wanted scalar, avx2 or avx512");
}

Simd simd_best() {
  if (const char* forced = std::getenv("HONE_SIMD"); forced && *forced) return simd_parse(forced);
  for (Simd level : {Simd::avx512, Simd::avx2})
    if (simd_available(level)) return level;
  return Simd::scalar;
}

Kernels kernels_of(Simd level) {
#if defined(__x86_64__)
  if (level == Simd::avx512)
    return {&linear_kernels_avx512, &row_kernels_avx512, &attention_kernels_avx512, &sampling_kernels_avx512};
  if (level == Simd::avx2) return {&linear_kernels_avx2, &row_kernels_avx2, &attention_kernels_avx2, &sampling_kernels_avx2};
#endif
  (void)level;
  return {&linear_kernels_scalar, &row_kernels_scalar, &attention_kernels_scalar, &sampling_kernels_scalar};
}

int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;
  int logical = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    logical++;
    char path[96], line[64] = "";
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (FILE* f = std::fopen(path, "r")) {
      if (std::fgets(line, sizeof line, f)) cores.insert(line);
      std::fclose(f);
    }
  }
  const int count = cores.empty() ? logical : int(cores.size());
  return count > 0 ? count : 1;
}

namespace {

constexpr size_t kHugePage = size_t(2) << 20, kChunkBytes = size_t(32) << 20;

struct Region {
  uint8_t* data;
  size_t size;
  Region(size_t bytes) : size((bytes + kHugePage - 1) / kHugePage * kHugePage) {
    void* p = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = p;
    data = (uint8_t*)((uintptr_t(p) + kHugePage - 1) / kHugePage * kHugePage);
    madvise(data, size, MADV_HUGEPAGE);
  }
  ~Region() { munmap(base_, size + kHugePage); }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  void* base_;
};

}  // namespace

HugeSpan huge_allocate(size_t bytes) {
  static std::mutex lock;
  static std::shared_ptr<Region> open;
  static size_t used = 0;
  const size_t size = (bytes + 63) / 64 * 64;
  const std::lock_guard<std::mutex> guard(lock);
  if (size >= kChunkBytes / 2) {
    auto own = std::make_shared<Region>(size);
    return {own->data, bytes, own};
  }
  if (!open || used + size > open->size || open.use_count() == 1) {
    open = std::make_shared<Region>(kChunkBytes);
    used = 0;
  }
  HugeSpan span{open->data + used, bytes, open};
  used += size;
  return span;
}

}  // namespace hone
