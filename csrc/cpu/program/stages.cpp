// The stages of a program: what each does to some of its items.
//
// Products: an item is a unit of 32 weight rows, so that a thread reads one sequential stream; all tiles of activations are
// taken for a unit before the next one, while it lies in the first-level cache.
// With one or two rows every thread prepares (normalizes, quantizes) the activations for itself: cheaper than a stage.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "hone/program.hpp"

namespace hone {

void Program::stage_embed(const Op& op, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) {
    float* out = row(op.out, i);
    op.weight->read_row(batch_.tokens[i], out);
    if (op.value != 1.f)
      for (int64_t k = 0; k < op.weight->cols(); k++) out[k] *= op.value;
  }
}

void Program::stage_rope_tables(int64_t begin, int64_t end) {
  for (const auto& table : ropes_) {
    const int64_t half = int64_t(table->inv_freq->size());
    for (int64_t i = begin; i < end; i++)
      for (int64_t k = 0; k < half; k++) {
        const float angle = float(batch_.positions[i]) * (*table->inv_freq)[size_t(k)];
        table->cos[size_t(i * half + k)] = std::cos(angle) * table->factor;
        table->sin[size_t(i * half + k)] = std::sin(angle) * table->factor;
      }
  }
}

void Program::stage_norm(const Op& op, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) k_.rows->rms_norm(row(op.x, i), op.vector->data(), cols(op.x), op.value, row(op.out, i));
}

// Rows begin .. end of x, normalized if asked, as activations of a product: in shared memory, or in the thread's own.
void Program::stage_prepare(BufferRef x, const Op& linear, const Op* norm, int64_t begin, int64_t end, int thread) {
  const int64_t rows = domain_rows(x), cols = linear.weight->cols();
  const bool integer = is_integer(linear.weight->format());
  const int64_t row_bytes = act_row_bytes(integer, cols);
  uint8_t* own = local_[size_t(thread)].data;
  uint8_t* act = prepares_alone(x) ? own : act_.data;
  float* tmp = (float*)(own + local_act_bytes_);
  const auto fill = integer ? k_.rows->act_quantize : k_.rows->act_float;
  const float* weight = norm ? norm->vector->data() : nullptr;
  const float eps = norm ? norm->value : 0.f;
  if (linear.order) {
    float *ordered = tmp + max_cols_ + 64, *ordered_weight = ordered + max_cols_ + 64;
    const auto gather = [&](const float* from, float* to) {
      for (int64_t k = 0; k < cols; k++) to[k] = from[(*linear.order)[size_t(k)]];
    };
    if (norm) gather(weight, ordered_weight);
    for (int64_t i = begin; i < end; i++) {
      const int64_t tile = i / kTile * kTile;
      gather(row(x, i), ordered);
      fill(ordered, 0, {int(std::min<int64_t>(kTile, rows - tile)), int(i - tile), 1}, cols, norm ? ordered_weight : nullptr, eps,
           act + tile * row_bytes, tmp);
    }
    return;
  }
  for (int64_t i = begin; i < end;) {
    const int64_t tile = i / kTile * kTile, stop = std::min(end, tile + kTile);
    const TileRows place{int(std::min<int64_t>(kTile, rows - tile)), int(i - tile), int(stop - i)};
    fill(row(x, i), stride(x), place, cols, weight, eps, act + tile * row_bytes, tmp);
    i = stop;
  }
}

const uint8_t* Program::prepared(BufferRef x, const Op& linear, const Op* norm, int thread) {
  if (!prepares_alone(x)) return act_.data;
  Prepared& p = prepared_[size_t(thread)];
  if (p.op != &linear || p.run != run_) {
    stage_prepare(x, linear, norm, 0, domain_rows(x), thread);
    p.op = &linear, p.run = run_;
  }
  return local_[size_t(thread)].data;
}

void Program::stage_linear(const Op& op, const Op* norm, bool ready, int64_t begin, int64_t end, int thread) {
  const PackedWeight& w = *op.weight;
  const int64_t rows = domain_rows(op.out);
  const bool integer = is_integer(w.format());
  const uint8_t* act = ready ? gated_.data : prepared(norm ? norm->x : op.x, op, norm, thread);
  const int64_t row_bytes = act_row_bytes(integer, w.cols()), ld = stride(op.out), steps = w.steps();
  const auto& kernels = k_.linear->unit[int(w.format())];
  const float* bias = op.vector ? op.vector->data() : nullptr;
  for (int64_t u = begin; u < end; u++)
    for (int64_t i = 0; i < rows; i += kTile) {
      const int T = int(std::min<int64_t>(kTile, rows - i));
      float* out = row(op.out, i) + u * kUnitRows;
      kernels[T](w.unit(u), act + i * row_bytes, steps, out, ld, op.add);
      if (bias)
        for (int t = 0; t < T; t++)
          for (int j = 0; j < kUnitRows; j++) out[t * ld + j] += bias[u * kUnitRows + j];
    }
}

// silu(x gate^T) * (x up^T), left as the activations of the next product.
void Program::stage_gated(const Op& op, const Op* norm, bool integer_out, int64_t begin, int64_t end, int thread) {
  const PackedWeight& w = *op.weight;
  const BufferRef x = norm ? norm->x : op.x;
  const int64_t rows = domain_rows(x);
  const bool integer = is_integer(w.format());
  const uint8_t* act = prepared(x, op, norm, thread);
  const int64_t half = w.units() / 2, row_bytes = act_row_bytes(integer, w.cols()), steps = w.steps();
  const int64_t out_bytes = act_row_bytes(integer_out, w.rows() / 2);
  const auto& kernels = k_.linear->unit[int(w.format())];
  const auto gate = integer_out ? k_.rows->swiglu_quantize : k_.rows->swiglu_float;
  alignas(64) float g[kTile * kUnitRows], u[kTile * kUnitRows];
  for (int64_t i = begin; i < end; i++)
    for (int64_t at = 0; at < rows; at += kTile) {
      const int T = int(std::min<int64_t>(kTile, rows - at));
      kernels[T](w.unit(i), act + at * row_bytes, steps, g, kUnitRows, false);
      kernels[T](w.unit(half + i), act + at * row_bytes, steps, u, kUnitRows, false);
      gate(g, u, T, i, gated_.data + at * out_bytes);
    }
}

void Program::stage_store(const Op& op, const RopeTable& table, int64_t begin, int64_t end) {
  const KvCache& c = op.cache;
  const int64_t half = int64_t(table.inv_freq->size());
  const int dim = c.head_dim, heads = op.num_heads + 2 * c.kv_heads, width = c.half ? 2 : 4;
  const int64_t layer = op.layer * c.layer_bytes();
  alignas(64) uint16_t halves[256];
  for (int64_t item = begin * heads; item < end * heads; item++) {
    const int64_t i = item / heads;
    const int h = int(item % heads), kv = (h - op.num_heads) % c.kv_heads;
    float* x = row(op.x, i) + h * dim;
    if (h < op.num_heads + c.kv_heads) k_.rows->rope(x, &table.cos[size_t(i * half)], &table.sin[size_t(i * half)], half);
    if (h < op.num_heads) continue;
    const int position = batch_.positions[i], in_page = position % c.page_size;
    const int64_t page = batch_.page_table[batch_.seq_of_row[i] * batch_.pages_per_seq + position / c.page_size];
    const int64_t head = layer + page * c.page_bytes() + kv * c.head_bytes();
    if (c.half) k_.rows->to_half(x, dim, halves);
    const uint8_t* from = c.half ? (const uint8_t*)halves : (const uint8_t*)x;
    if (h >= op.num_heads + c.kv_heads) {
      std::memcpy(c.values + head + int64_t(in_page) * dim * width, from, size_t(dim * width));
      continue;
    }
    uint8_t* key = c.keys + head + (int64_t(in_page / kBlock) * dim * kBlock + in_page % kBlock) * width;
    if (c.half)
      for (int d = 0; d < dim; d++) std::memcpy(key + d * kBlock * 2, halves + d, 2);
    else
      for (int d = 0; d < dim; d++) std::memcpy(key + d * kBlock * 4, x + d, 4);
  }
}

void Program::stage_swiglu(const Op& op, int64_t begin, int64_t end) {
  const int64_t half = cols(op.out);
  for (int64_t i = begin; i < end; i++) k_.rows->swiglu(row(op.x, i), row(op.x, i) + half, half, row(op.out, i));
}

void Program::stage_add(const Op& op, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) k_.rows->add(row(op.x, i), row(op.y, i), cols(op.out), row(op.out, i));
}

void Program::stage_gather(const Op& op, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++)
    std::memcpy(row(op.out, i), row(op.x, batch_.logit_rows[i]), size_t(cols(op.out)) * 4);
}

}  // namespace hone
