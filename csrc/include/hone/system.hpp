// What the machine offers: instruction sets, cores, huge pages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace hone {

enum class Simd { scalar = 0, avx2 = 1, avx512 = 2 };

const char* simd_name(Simd level);
bool simd_available(Simd level);
Simd simd_best();                      // the highest level of this CPU, or HONE_SIMD if it names a lower one
Simd simd_parse(const char* name);     // throws std::invalid_argument

int physical_cores();                  // cores this process may run on, hyper-threads counted once

// Memory in 2 MiB pages where the kernel grants them; bump-allocated from chunks that live as long as any part of them.
struct HugeSpan {
  uint8_t* data = nullptr;
  size_t size = 0;
  std::shared_ptr<void> chunk;
};
HugeSpan huge_allocate(size_t bytes);  // aligned to 64 bytes, zeroed; throws std::bad_alloc

}  // namespace hone
