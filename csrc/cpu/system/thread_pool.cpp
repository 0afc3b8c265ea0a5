// A pool for jobs of some 200 short stages a token, on cores that other processes use as well.
//
// Each thread owns an equal stretch of a stage's items (one sequential stream of weights), takes it in halves, and steals
// from the far end of another's stretch when its own is done. Whoever finishes the last item opens the next stage. So a
// thread that sleeps, or that the kernel has given no core, is not waited for unless it was stopped amid an item; a plain
// barrier with fixed shares waits for it at every stage (measured with four busy processes on two cores, decoding
// SmolLM2-135M: see bench/cpu_kernels.py).
// A stage is numbered; a claim is one compare-and-swap of (number, begin, end), which fails if the stage is over. A word
// with an older number stands for the whole stretch, so nothing needs to be set up between stages.
// Waiting: spin (20 us within a job, 80 us between jobs), then offer the core to others but stay ready (some 60 us, 1.2 ms:
// longer than the Python of a decoding step, for waking a sleeper costs 50 us on a virtual machine), then sleep (futex).
#include "hone/thread_pool.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#if defined(__x86_64__)
#include <immintrin.h>
#define HONE_PAUSE() _mm_pause()
#else
#define HONE_PAUSE() std::this_thread::yield()
#endif

namespace hone {
namespace {

struct Patience {
  int spins, yields;
};
constexpr Patience kStage{1500, 200}, kIdle{6000, 4000};

inline uint64_t pack(uint32_t number, int64_t begin, int64_t end) {
  return uint64_t(number) << 32 | uint64_t(begin) << 16 | uint64_t(end);
}

void futex(std::atomic<uint64_t>& word, int op, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), op, value, nullptr, nullptr, 0);
}

}  // namespace

ThreadPool::ThreadPool(int threads) : threads_(threads < 1 ? 1 : threads), shares_(std::make_unique<Share[]>(size_t(threads_))) {
  for (int i = 1; i < threads_; i++) workers_.emplace_back([this, i] { worker(i); });
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  state_.fetch_add(1);
  futex(state_, FUTEX_WAKE_PRIVATE, INT32_MAX);
  for (auto& thread : workers_) thread.join();
}

ThreadPool::State ThreadPool::state() const {
  const uint64_t s = state_.load(std::memory_order_acquire);
  return {uint32_t(s), uint32_t(s >> 32)};
}

bool ThreadPool::claim(int of, bool own, State s, int64_t& begin, int64_t& end) {
  std::atomic<uint64_t>& word = shares_[size_t(of)].word;
  uint64_t seen = word.load(std::memory_order_acquire);
  for (;;) {
    const int32_t age = int32_t(uint32_t(seen >> 32) - s.number);
    if (age > 0) return false;
    const int64_t n = s.items;
    int64_t b = n * of / threads_, e = n * (of + 1) / threads_;
    if (age == 0) b = int64_t(seen >> 16 & 0xffff), e = int64_t(seen & 0xffff);
    if (b >= e) return false;
    const int64_t take = (e - b + 1) / 2;
    const uint64_t left = own ? pack(s.number, b + take, e) : pack(s.number, b, e - take);
    if (!word.compare_exchange_weak(seen, left, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    begin = own ? b : e - take;
    end = own ? b + take : e;
    return true;
  }
}

void ThreadPool::work(State s, int thread) {
  int64_t begin, end, count = 0;
  for (int i = 0; i < threads_; i++) {
    const int of = (thread + i) % threads_;
    while (claim(of, i == 0, s, begin, end)) {
      job_->run(stage_, begin, end, thread);
      count += end - begin;
    }
  }
  if (count && done_.fetch_add(count, std::memory_order_acq_rel) + count == s.items) advance();
}

// Called by one thread at a time: by run() at the start, then by whoever finished a stage.
void ThreadPool::advance() {
  const uint32_t number = uint32_t(state_.load(std::memory_order_relaxed));
  int64_t n = 0;
  do {
    if (stage_ >= 0) job_->stage_done(stage_);
    n = ++stage_ < job_->num_stages() ? job_->items(stage_) : 0;
  } while (n == 0 && stage_ < job_->num_stages());
  done_.store(0, std::memory_order_relaxed);
  state_.store(uint64_t(n) << 32 | uint32_t(number + 1), std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst) && sleeping_.exchange(0)) futex(state_, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

void ThreadPool::wait_while(uint32_t number, bool in_job) {
  const Patience patience = in_job ? kStage : kIdle;
  for (int i = 0; i < patience.spins; i++) {
    if (state().number != number) return;
    HONE_PAUSE();
  }
  for (int i = 0; i < patience.yields; i++) {
    if (state().number != number) return;
    sched_yield();
  }
  while (state().number == number) {
    sleeping_.store(1, std::memory_order_seq_cst);
    futex(state_, FUTEX_WAIT_PRIVATE, number);   // returns at once if the number has moved on
  }
}

void ThreadPool::worker(int thread) {
  for (;;) {
    const State s = state();
    if (stop_) return;
    if (s.items) work(s, thread);
    wait_while(s.number, s.items > 0);
  }
}

void ThreadPool::run(Job& job) {
  const std::lock_guard<std::mutex> guard(busy_);
  if (threads_ == 1) {
    for (int s = 0; s < job.num_stages(); s++) {
      if (const int64_t n = job.items(s)) job.run(s, 0, n, 0);
      job.stage_done(s);
    }
    return;
  }
  job_ = &job;
  stage_ = -1;
  advance();
  for (State s = state(); s.items; s = state()) {
    work(s, 0);
    wait_while(s.number, true);
  }
}

std::shared_ptr<ThreadPool> ThreadPool::shared(int threads) {
  static std::mutex lock;
  // Never destroyed: a pool costs nothing while it sleeps, and at exit its threads end with the process.
  static auto* pools = new std::map<int, std::shared_ptr<ThreadPool>>;
  const std::lock_guard<std::mutex> guard(lock);
  auto& pool = (*pools)[threads];
  if (!pool) pool = std::make_shared<ThreadPool>(threads);
  return pool;
}

}  // namespace hone
