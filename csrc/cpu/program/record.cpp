// Recording: buffers and operations, and how they become stages.
//
// A stage has independent items, dealt to the threads by the pool. What can be fused is fused here, so that layers may record the plain
// sequence of a decoder: a norm read only by the product after it becomes that product's prologue; gate and up products
// with the SwiGLU after them become one stage that leaves its result quantized for the down product.
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "hone/program.hpp"

namespace hone {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Program::Program(Limits limits, int threads, Simd level)
    : limits_(limits), k_(kernels_of(level)), pool_(ThreadPool::shared(threads)) {}

Program::~Program() = default;

BufferRef Program::buffer(int64_t cols, bool gathered) {
  const int64_t stride = (cols + kUnitRows - 1) / kUnitRows * kUnitRows;
  buffers_.push_back({cols, stride, gathered, {}});
  data_.push_back(nullptr);
  return {int(buffers_.size()) - 1};
}

float* Program::data(BufferRef b) {
  Buffer& buffer = buffers_.at(size_t(b.index));
  if (!buffer.span.data) {
    const int64_t rows = std::max<int64_t>(1, buffer.gathered ? limits_.max_logit_rows : limits_.max_rows);
    buffer.span = huge_allocate(size_t(rows * buffer.stride) * 4);
    data_[size_t(b.index)] = (float*)buffer.span.data;
  }
  return data_[size_t(b.index)];
}

void Program::record(Op op) {
  if (lowered_) throw std::invalid_argument("program: operations cannot be recorded after the first run");
  ops_.push_back(std::move(op));
}

int64_t Program::scratch_bytes() const {
  int64_t total = int64_t(act_.size + gated_.size + partial_.size() * 4);
  for (const auto& b : buffers_) total += int64_t(b.span.size);
  for (const auto& l : local_) total += int64_t(l.size);
  return total;
}

// Decides what is fused; made once, in the order of the operations.
class Lowering {
 public:
  explicit Lowering(Program& p) : p_(p) {}

  void build() {
    for (size_t i = 0; i < p_.ops_.size();) i += lower(i);
  }

 private:
  bool reads(const Op& op, BufferRef b) const {
    if (op.kind == OpKind::linear) return op.x == b || (op.add && op.out == b);
    return op.x == b || op.y == b;
  }

  // True if b is read, by x alone, only in operations of one kind that stand right after one that wrote b in whole.
  bool read_only_next(BufferRef b, OpKind writer, OpKind reader) const {
    for (size_t i = 0; i < p_.ops_.size(); i++) {
      const Op& op = p_.ops_[i];
      if (!reads(op, b)) continue;
      if (i == 0 || op.kind != reader || op.y == b || op.out == b) return false;
      const Op& before = p_.ops_[i - 1];
      if (before.kind != writer || !(before.out == b) || before.add) return false;
    }
    return !(p_.ops_.back().out == b);
  }

  bool norm_fuses(size_t i) const {
    if (i + 1 >= p_.ops_.size()) return false;
    const Op &norm = p_.ops_[i], &next = p_.ops_[i + 1];
    return norm.kind == OpKind::rms_norm && next.kind == OpKind::linear && next.x == norm.out && !(norm.x == norm.out) &&
           !(next.out == norm.out) && read_only_next(norm.out, OpKind::rms_norm, OpKind::linear);
  }

  // linear i, swiglu i + 1, linear i + 2
  bool gate_fuses(size_t i) const {
    if (i + 2 >= p_.ops_.size()) return false;
    const Op &up = p_.ops_[i], &gate = p_.ops_[i + 1], &down = p_.ops_[i + 2];
    return up.kind == OpKind::linear && gate.kind == OpKind::swiglu && down.kind == OpKind::linear && !up.add && !up.vector &&
           gate.x == up.out && down.x == gate.out && !down.order && up.weight->rows() % (2 * kUnitRows) == 0 &&
           read_only_next(up.out, OpKind::linear, OpKind::swiglu) && read_only_next(gate.out, OpKind::swiglu, OpKind::linear);
  }

  using Items = std::function<int64_t()>;

  void stage(const char* name, std::initializer_list<BufferRef> used, Items items, Program::Run run) {
    for (BufferRef b : used)
      if (b.index >= 0) p_.data(b);
    p_.stages_.push_back({name, std::move(items), std::move(run)});
  }

  Items rows_of(BufferRef b) const {
    return [p = &p_, b] { return p->domain_rows(b); };
  }

  Items units_of(BufferRef rows, int64_t units) const {
    return [p = &p_, rows, units] { return p->domain_rows(rows) ? units : 0; };
  }

  // With more rows than a thread would prepare for itself, they are prepared together, ahead of the product.
  void prepare(BufferRef x, const Op& op, const Op* norm) {
    Program* p = &p_;
    stage("prepare", {x}, [=] { return p->prepares_alone(x) ? 0 : p->domain_rows(x); },
          [=, &op](int64_t b, int64_t e, int t) { p->stage_prepare(x, op, norm, b, e, t); });
  }

  size_t lower_linear(size_t i, const Op* norm) {
    Program* p = &p_;
    const Op& op = p_.ops_[i];
    const BufferRef x = norm ? norm->x : op.x;
    p->max_cols_ = std::max(p->max_cols_, op.weight->cols());
    prepare(x, op, norm);
    if (gate_fuses(i)) {
      const Op& down = p_.ops_[i + 2];
      const bool integer = is_integer(down.weight->format());
      p->max_cols_ = std::max(p->max_cols_, down.weight->cols());
      stage("gate_up", {x}, units_of(x, op.weight->units() / 2),
            [=, &op](int64_t b, int64_t e, int t) { p->stage_gated(op, norm, integer, b, e, t); });
      stage("down", {down.out}, units_of(down.out, down.weight->units()),
            [=, &down](int64_t b, int64_t e, int t) { p->stage_linear(down, nullptr, true, b, e, t); });
      return 3;
    }
    stage(op.weight->rows() > 8 * op.weight->cols() ? "head" : "linear", {x, op.out}, units_of(op.out, op.weight->units()),
          [=, &op](int64_t b, int64_t e, int t) { p->stage_linear(op, norm, false, b, e, t); });
    return 1;
  }

  const Program::RopeTable& rope_table(const Op& op) {
    for (const auto& r : p_.ropes_)
      if (*r->inv_freq == *op.vector && r->factor == op.value) return *r;
    auto table = std::make_unique<Program::RopeTable>();
    table->inv_freq = op.vector;
    table->factor = op.value;
    table->cos.resize(size_t(p_.limits_.max_rows) * op.vector->size());
    table->sin.resize(table->cos.size());
    p_.ropes_.push_back(std::move(table));
    return *p_.ropes_.back();
  }

  size_t lower(size_t i) {
    const Op& op = p_.ops_[i];
    if (op.kind == OpKind::linear) return lower_linear(i, nullptr);
    if (op.kind == OpKind::rms_norm && norm_fuses(i)) return 1 + lower_linear(i + 1, &op);
    if (op.kind == OpKind::attention) lower_attention(op);
    else lower_rows(op);
    return 1;
  }

  void lower_attention(const Op& op) {
    Program* p = &p_;
    p->group_heads_ = std::max(p->group_heads_, op.num_heads / op.cache.kv_heads);
    stage("attention", {op.x, op.out}, [=, &op] { return p->attention_items(op); },
          [=, &op](int64_t b, int64_t e, int t) { p->stage_attention(op, b, e, t); });
    stage("merge", {}, [=, &op] { return p->split_chunks_ ? p->batch_.rows * op.num_heads : 0; },
          [=, &op](int64_t b, int64_t e, int) { p->stage_combine(op, b, e); });
  }

  // Operations whose items are rows.
  void lower_rows(const Op& op) {
    Program* p = &p_;
    const auto add = [&](const char* name, BufferRef rows, auto run) {
      stage(name, {op.x, op.y, op.out}, rows_of(rows), [=](int64_t b, int64_t e, int) { run(b, e); });
    };
    switch (op.kind) {
      case OpKind::rms_norm: add("norm", op.out, [p, &op](int64_t b, int64_t e) { p->stage_norm(op, b, e); }); break;
      case OpKind::embed: add("embed", op.out, [p, &op](int64_t b, int64_t e) { p->stage_embed(op, b, e); }); break;
      case OpKind::swiglu: add("swiglu", op.out, [p, &op](int64_t b, int64_t e) { p->stage_swiglu(op, b, e); }); break;
      case OpKind::add: add("add", op.out, [p, &op](int64_t b, int64_t e) { p->stage_add(op, b, e); }); break;
      case OpKind::gather: add("gather", op.out, [p, &op](int64_t b, int64_t e) { p->stage_gather(op, b, e); }); break;
      default: {
        const auto& table = rope_table(op);
        add("rope", op.out, [p, &op, &table](int64_t b, int64_t e) { p->stage_store(op, table, b, e); });
      }
    }
  }

  Program& p_;
};

void Program::lower() {
  Lowering(*this).build();
  if (!ropes_.empty())
    stages_.insert(stages_.begin(), Stage{"angles", [this] { return batch_.rows; },
                                          [this](int64_t b, int64_t e, int) { stage_rope_tables(b, e); }});
  int head_dim = 0;
  for (const auto& op : ops_)
    if (op.kind == OpKind::attention) head_dim = std::max(head_dim, op.cache.head_dim);
  tile_rows_ = std::max(1, std::min(16, 24 / group_heads_));
  const int64_t queries = std::max(tile_rows_ * group_heads_, group_heads_);
  // q, scores, block, chunk results and running results of a tile; and what a product prepares a row in: normalized, in
  // another order, and the norm's weights in that order
  local_floats_ = queries * (3 * head_dim + kChunk + 8) + int64_t(head_dim) * 2 * kBlock + kBlock + 3 * (max_cols_ + 64);
  local_act_bytes_ = (act_row_bytes(false, max_cols_) * kTile + 63) / 64 * 64;
  local_.clear();
  for (int t = 0; t < pool_->size(); t++) local_.push_back(huge_allocate(size_t(local_act_bytes_ + local_floats_ * 4)));
  bool dense = false;
  for (const auto& op : ops_) dense |= op.kind == OpKind::linear && !is_integer(op.weight->format());
  const size_t act_bytes = size_t(act_row_bytes(!dense, (max_cols_ + 31) / 32 * 32) * std::max<int64_t>(limits_.max_rows, kTile));
  act_ = huge_allocate(act_bytes);
  gated_ = huge_allocate(act_bytes);
  prepared_ = std::vector<Prepared>(size_t(pool_->size()));
  lowered_ = true;
}

void Program::run(const Batch& batch) {
  batch_ = batch;
  if (!lowered_) lower();
  plan_attention();
  run_++;
  stage_began_ = times_wanted ? now() : 0;
  pool_->run(*this);
}

void Program::stage_done(int stage) {
  if (!times_wanted) return;
  Stage& s = stages_[size_t(stage)];
  const double at = now(), took = at - stage_began_;
  stage_began_ = at;
  s.seconds += took;
  s.best = s.calls++ ? std::min(s.best, took) : took;
}

std::vector<Program::StageTime> Program::times() const {
  std::vector<StageTime> total;
  for (const auto& s : stages_) {
    auto it = std::find_if(total.begin(), total.end(), [&](const StageTime& t) { return t.name == s.name; });
    if (it == total.end()) it = total.insert(total.end(), {s.name, 0, 0, 0});
    it->seconds += s.seconds;
    it->best += s.best;
    it->calls += s.calls;
  }
  return total;
}

void Program::reset_times() {
  for (auto& s : stages_) {
    s.seconds = s.best = 0;
    s.calls = 0;
  }
}

}  // namespace hone
