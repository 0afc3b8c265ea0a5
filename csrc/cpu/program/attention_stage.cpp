// How attention is split: a task is (tile of query rows of one sequence, KV head). A prompt's rows are taken in tiles that
// share widened keys; rows of different sequences are tiles of one. When there are fewer tasks than would keep the threads
// busy and the context is long, a task is one chunk of it, and a second pass merges the chunks in order.
// Results do not depend on who took a task.
#include <algorithm>
#include <cstring>

#include "hone/program.hpp"

namespace hone {

void Program::plan_attention() {
  tiles_.clear();
  int longest = 0;
  for (int64_t r = 0; r < batch_.rows;) {
    int64_t end = r + 1;
    while (end < batch_.rows && end - r < tile_rows_ && batch_.seq_of_row[end] == batch_.seq_of_row[r]) end++;
    tiles_.push_back({r, int(end - r)});
    longest = std::max(longest, int(batch_.positions[end - 1]) + 1);
    r = end;
  }
  int kv_heads = 1, heads = 1, dim = 1;
  for (const auto& op : ops_)
    if (op.kind == OpKind::attention) {
      kv_heads = std::max(kv_heads, op.cache.kv_heads);
      heads = std::max(heads, op.num_heads);
      dim = std::max(dim, op.cache.head_dim);
    }
  const bool single = int64_t(tiles_.size()) == batch_.rows;
  const int64_t chunks = (longest + kChunk - 1) / kChunk;
  split_chunks_ = single && chunks > 1 && pool_->size() > 1 && batch_.rows * kv_heads < 8 * pool_->size();
  if (split_chunks_) {
    partial_chunks_ = chunks;
    const size_t wanted = size_t(batch_.rows * chunks) * size_t(heads) * size_t(dim + 2);
    if (partial_.size() < wanted) partial_.resize(wanted);
  }
}

int Program::chunks_of(int64_t row, int window) const {
  const int last = batch_.positions[row], first = window > 0 ? std::max(0, last + 1 - window) : 0;
  return last / kChunk - first / kChunk + 1;
}

// One tile and KV head: all its chunks merged into the output rows, or (chunk >= 0) that one chunk left for stage_combine.
void Program::attend(const Op& op, const AttentionTile& tile, int kv_head, int chunk, int thread) {
  const KvCache& c = op.cache;
  const int dim = c.head_dim, group = op.num_heads / c.kv_heads, num = tile.num_rows * group;
  float* f = (float*)(local_[size_t(thread)].data + local_act_bytes_);
  float *q = f, *run_out = q + num * dim, *out = run_out + num * dim, *scores = out + num * dim, *block = scores + num * kChunk + kBlock;
  float *max = block + dim * 2 * kBlock, *sum = max + num, *run_max = sum + num, *run_sum = run_max + num;
  int32_t *first = (int32_t*)(run_sum + num), *last = first + num;
  const float scale = op.value * 1.44269504088896341f;   // scores in powers of 2
  for (int i = 0; i < tile.num_rows; i++)
    for (int g = 0; g < group; g++) {
      const int j = i * group + g;
      const float* x = row(op.x, tile.row + i) + (kv_head * group + g) * dim;
      for (int d = 0; d < dim; d++) q[d * num + j] = x[d] * scale;
      last[j] = batch_.positions[tile.row + i];
      first[j] = op.window > 0 ? std::max(0, last[j] + 1 - op.window) : 0;
      run_sum[j] = 0;
      run_max[j] = -3.4e38f;
    }
  ChunkArgs a{};
  a.asked = false;
  const int64_t layer = op.layer * c.layer_bytes();
  a.kv = {c.keys + layer, c.values + layer, batch_.page_table + batch_.seq_of_row[tile.row] * batch_.pages_per_seq,
          c.page_bytes(), kv_head * c.head_bytes(), __builtin_ctz(unsigned(c.page_size)), dim};
  a.q = q, a.num = num, a.last = last, a.first = first;
  a.scores = scores, a.block = block, a.max = max, a.sum = sum, a.out = out;
  const auto run = c.half ? k_.attention->chunk_half : k_.attention->chunk_float;
  const int begin = first[0] / kChunk, end = last[num - 1] / kChunk + 1;
  for (int n = chunk >= 0 ? begin + chunk : begin; n < (chunk >= 0 ? begin + chunk + 1 : end); n++) {
    a.begin = std::max(n * kChunk, first[0] / kBlock * kBlock);
    a.end = std::min((n + 1) * kChunk, last[num - 1] + 1);
    const bool same_head = chunk < 0 && n + 1 < end, next_head = chunk < 0 && kv_head + 1 < c.kv_heads;
    a.next = same_head ? (n + 1) * kChunk : next_head ? std::max(begin * kChunk, first[0] / kBlock * kBlock) : -1;
    a.next_end = last[num - 1] + 1;
    a.next_head = same_head ? 0 : c.head_bytes();
    run(a);
    a.asked = true;
    if (chunk >= 0) break;
    for (int j = 0; j < num; j++) k_.attention->merge(run_max + j, run_sum + j, run_out + j * dim, max[j], sum[j], out + j * dim, dim);
  }
  for (int i = 0; i < tile.num_rows; i++)
    for (int g = 0; g < group; g++) {
      const int j = i * group + g, head = kv_head * group + g;
      if (chunk >= 0) {
        float* p = &partial_[size_t(((tile.row * op.num_heads + head) * partial_chunks_ + chunk) * (dim + 2))];
        p[0] = max[j], p[1] = sum[j];
        std::memcpy(p + 2, out + j * dim, size_t(dim) * 4);
        continue;
      }
      float* y = row(op.out, tile.row + i) + head * dim;
      const float share = 1.f / run_sum[j];
      for (int d = 0; d < dim; d++) y[d] = run_out[j * dim + d] * share;
    }
}

int64_t Program::attention_items(const Op& op) const {
  if (!split_chunks_) return int64_t(tiles_.size()) * op.cache.kv_heads;
  return int64_t(tiles_.size()) * partial_chunks_ * op.cache.kv_heads;
}

void Program::stage_attention(const Op& op, int64_t begin, int64_t end, int thread) {
  const int kv_heads = op.cache.kv_heads;
  for (int64_t t = begin; t < end; t++) {
    const int64_t per_tile = split_chunks_ ? partial_chunks_ * kv_heads : kv_heads;
    const AttentionTile& tile = tiles_[size_t(t / per_tile)];
    const int chunk = split_chunks_ ? int(t % per_tile) / kv_heads : -1;
    if (chunk < chunks_of(tile.row, op.window)) attend(op, tile, int(t % kv_heads), chunk, thread);
  }
}

void Program::stage_combine(const Op& op, int64_t begin, int64_t end) {
  const int dim = op.cache.head_dim;
  alignas(64) float run[256];
  for (int64_t item = begin; item < end; item++) {
    const int64_t r = item / op.num_heads, head = item % op.num_heads;
    float run_max = -3.4e38f, run_sum = 0;
    const float* p = &partial_[size_t(item * partial_chunks_ * (dim + 2))];
    for (int n = 0; n < chunks_of(r, op.window); n++, p += dim + 2)
      k_.attention->merge(&run_max, &run_sum, run, p[0], p[1], p + 2, dim);
    float* y = row(op.out, r) + head * dim;
    const float scale = 1.f / run_sum;
    for (int d = 0; d < dim; d++) y[d] = run[d] * scale;
  }
}

}  // namespace hone
