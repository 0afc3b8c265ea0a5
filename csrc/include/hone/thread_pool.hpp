// Threads that walk through the stages of a job together and never wait for one that holds no work.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace hone {

// Stages in order; the items of a stage are independent of each other and may be run by any thread in any split.
class Job {
 public:
  virtual ~Job() = default;
  virtual int num_stages() const = 0;
  virtual int64_t items(int stage) const = 0;                                     // at most 65535; 0 skips the stage
  virtual void run(int stage, int64_t begin, int64_t end, int thread) = 0;
  virtual void stage_done(int stage) { (void)stage; }
};

class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  int size() const { return threads_; }
  void run(Job& job);                                       // the caller is thread 0; one job at a time

  static std::shared_ptr<ThreadPool> shared(int threads);   // one pool a thread count for the process

 private:
  struct alignas(64) Share {
    std::atomic<uint64_t> word{0};                          // stage number << 32 | begin << 16 | end: not yet claimed
  };
  struct State {
    uint32_t number, items;                                 // of the stage in progress; items 0: no job
  };

  State state() const;
  bool claim(int of, bool own, State s, int64_t& begin, int64_t& end);
  void work(State s, int thread);
  void advance();
  void wait_while(uint32_t number, bool in_job);
  void worker(int thread);

  const int threads_;
  std::mutex busy_;
  Job* job_ = nullptr;
  int stage_ = 0;
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<uint64_t> state_{0};              // items << 32 | number: the low half is what sleepers wait on
  alignas(64) std::atomic<uint32_t> sleeping_{0};
  alignas(64) std::atomic<int64_t> done_{0};
  std::unique_ptr<Share[]> shares_;
  std::vector<std::thread> workers_;
};

}  // namespace hone
