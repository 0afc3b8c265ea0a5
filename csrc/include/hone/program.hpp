// A forward pass recorded once and replayed with one call.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "hone/kernels.hpp"
#include "hone/packed_weight.hpp"
#include "hone/thread_pool.hpp"

namespace hone {

struct BufferRef {
  int index = -1;
  bool operator==(const BufferRef& o) const { return index == o.index; }
};

// Keys and values in pages, each with all its layers; memory belongs to the caller.
// keys: (pages, layers, kv_heads, page_size / 16, head_dim, 16); values: (pages, layers, kv_heads, page_size, head_dim).
struct KvCache {
  uint8_t* keys = nullptr;
  uint8_t* values = nullptr;
  int64_t num_pages = 0;
  int page_size = 0, num_layers = 0, kv_heads = 0, head_dim = 0;
  bool half = true;
  int64_t head_bytes() const { return int64_t(page_size) * head_dim * (half ? 2 : 4); }
  int64_t layer_bytes() const { return head_bytes() * kv_heads; }
  int64_t page_bytes() const { return layer_bytes() * num_layers; }
};

struct Batch {
  int64_t rows = 0, seqs = 0, pages_per_seq = 0, logits = 0;
  const int32_t* tokens = nullptr;
  const int32_t* positions = nullptr;
  const int32_t* seq_of_row = nullptr;
  const int32_t* page_table = nullptr;
  const int32_t* context_lens = nullptr;
  const int32_t* logit_rows = nullptr;
};

struct Limits {
  int64_t max_rows, max_seqs, max_pages_per_seq, max_logit_rows;
};

enum class OpKind { embed, rms_norm, linear, rope_store, attention, swiglu, add, gather };

struct Op {
  OpKind kind;
  BufferRef x, y, out;
  std::shared_ptr<PackedWeight> weight;
  std::shared_ptr<std::vector<float>> vector;   // norm weight, bias or inverse frequencies
  std::shared_ptr<std::vector<int32_t>> order;  // linear: column k of the weight multiplies x[order[k]]
  float value = 0;                              // eps, scale or factor
  bool add = false;
  KvCache cache;
  int layer = 0, num_heads = 0, window = 0;
};

class Program : public Job {
 public:
  Program(Limits limits, int threads, Simd level);
  ~Program() override;

  const Limits& limits() const { return limits_; }
  BufferRef buffer(int64_t cols, bool gathered);
  void record(Op op);
  void run(const Batch& batch);

  int64_t cols(BufferRef b) const { return buffers_.at(size_t(b.index)).cols; }
  bool gathered(BufferRef b) const { return buffers_.at(size_t(b.index)).gathered; }
  int64_t stride(BufferRef b) const { return buffers_.at(size_t(b.index)).stride; }
  size_t num_buffers() const { return buffers_.size(); }
  bool materialized(BufferRef b) const { return buffers_.at(size_t(b.index)).span.data != nullptr; }
  float* data(BufferRef b);                     // allocates on first use
  int threads() const { return pool_->size(); }
  int64_t scratch_bytes() const;
  bool times_wanted = false;                    // measure each stage on thread 0
  struct StageTime {
    const char* name;
    double seconds;
    double best;                                // sum over the stages of this name of each one's shortest run
    int64_t calls;
  };
  std::vector<StageTime> times() const;
  void reset_times();

 private:
  friend class Lowering;
  struct Buffer {
    int64_t cols, stride;
    bool gathered;
    HugeSpan span;
  };
  using Run = std::function<void(int64_t begin, int64_t end, int thread)>;
  struct Stage {
    const char* name;
    std::function<int64_t()> items;
    Run run;
    double seconds = 0, best = 0;
    int64_t calls = 0;
  };
  struct RopeTable {
    std::shared_ptr<std::vector<float>> inv_freq;
    float factor;
    std::vector<float> cos, sin;
  };
  struct AttentionTile {
    int64_t row;
    int num_rows;
  };

  void lower();
  void plan_attention();
  int num_stages() const override { return int(stages_.size()); }
  int64_t items(int stage) const override { return stages_[size_t(stage)].items(); }
  void run(int stage, int64_t begin, int64_t end, int thread) override { stages_[size_t(stage)].run(begin, end, thread); }
  void stage_done(int stage) override;
  int64_t domain_rows(BufferRef b) const { return gathered(b) ? batch_.logits : batch_.rows; }
  float* row(BufferRef b, int64_t r) { return data_[size_t(b.index)] + r * stride(b); }

  // Stages: what they do to items begin .. end.
  void stage_embed(const Op& op, int64_t begin, int64_t end);
  void stage_norm(const Op& op, int64_t begin, int64_t end);
  void stage_prepare(BufferRef x, const Op& linear, const Op* norm, int64_t begin, int64_t end, int thread);
  void stage_linear(const Op& op, const Op* norm, bool ready, int64_t begin, int64_t end, int thread);
  void stage_gated(const Op& op, const Op* norm, bool integer_out, int64_t begin, int64_t end, int thread);
  void stage_store(const Op& op, const RopeTable& table, int64_t begin, int64_t end);
  void stage_attention(const Op& op, int64_t begin, int64_t end, int thread);
  void stage_combine(const Op& op, int64_t begin, int64_t end);
  void stage_swiglu(const Op& op, int64_t begin, int64_t end);
  void stage_add(const Op& op, int64_t begin, int64_t end);
  void stage_gather(const Op& op, int64_t begin, int64_t end);
  void stage_rope_tables(int64_t begin, int64_t end);

  bool prepares_alone(BufferRef x) const { return domain_rows(x) <= kOwnRows; }
  const uint8_t* prepared(BufferRef x, const Op& linear, const Op* norm, int thread);
  void attend(const Op& op, const AttentionTile& tile, int kv_head, int chunk, int thread);
  int chunks_of(int64_t row, int window) const;
  int64_t attention_items(const Op& op) const;

  static constexpr int64_t kOwnRows = 2;   // up to here every thread prepares activations for itself

  Limits limits_;
  Kernels k_;
  std::shared_ptr<ThreadPool> pool_;
  std::vector<Buffer> buffers_;
  std::vector<float*> data_;
  std::vector<Op> ops_;
  std::vector<Stage> stages_;
  std::vector<std::unique_ptr<RopeTable>> ropes_;
  bool lowered_ = false;

  Batch batch_;
  std::vector<AttentionTile> tiles_;
  int tile_rows_ = 8;          // query rows of a prompt that are attended together
  int group_heads_ = 1;
  bool split_chunks_ = false;  // decode: one task a chunk of the context, merged afterwards

  HugeSpan act_, gated_;                // activations of the next product, all rows
  std::vector<HugeSpan> local_;         // a thread's own
  struct alignas(64) Prepared {
    const Op* op = nullptr;             // whose activations the thread's own memory holds
    uint64_t run = 0;
  };
  std::vector<Prepared> prepared_;
  uint64_t run_ = 0;
  double stage_began_ = 0;
  int64_t local_act_bytes_ = 0, local_floats_ = 0;
  std::vector<float> partial_;          // decode: (row, head, chunk) of max, sum, out
  int64_t partial_chunks_ = 0;
  int64_t max_cols_ = 0;
};

}  // namespace hone
