#include "ops/probe.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "hone/system.hpp"
#include "hone/thread_pool.hpp"

namespace hone {
namespace {

constexpr int64_t kPieceBytes = int64_t(1) << 20;

class Reader : public Job {
 public:
  Reader(const uint64_t* data, int64_t bytes) : data_(data), pieces_(bytes / kPieceBytes) {}
  int num_stages() const override { return 1; }
  int64_t items(int) const override { return pieces_; }
  void run(int, int64_t begin, int64_t end, int) override {
    uint64_t s[8] = {};
    for (int64_t i = begin * (kPieceBytes / 8); i < end * (kPieceBytes / 8); i += 8)
      for (int j = 0; j < 8; j++) s[j] ^= data_[i + j];
    sink.store(s[0] ^ s[1] ^ s[2] ^ s[3] ^ s[4] ^ s[5] ^ s[6] ^ s[7], std::memory_order_relaxed);
  }
  std::atomic<uint64_t> sink{0};

 private:
  const uint64_t* data_;
  int64_t pieces_;
};

}  // namespace

double read_bandwidth(int64_t bytes, int threads, int repeats) {
  const HugeSpan span = huge_allocate(size_t(bytes));
  std::memset(span.data, 1, size_t(bytes));
  const auto pool = ThreadPool::shared(threads);
  Reader reader((const uint64_t*)span.data, bytes);
  double best = 1e30;
  for (int i = 0; i < repeats; i++) {
    const auto begin = std::chrono::steady_clock::now();
    pool->run(reader);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return double(bytes / kPieceBytes * kPieceBytes) / best;
}

}  // namespace hone
