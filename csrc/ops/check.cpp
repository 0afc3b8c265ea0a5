#include "hone/check.hpp"

#include <stdexcept>

namespace hone {
namespace {

std::string str(int64_t n) { return std::to_string(n); }

void check_buffer(const Program& p, const char* name, BufferRef b, int64_t cols) {
  if (b.index < 0 || size_t(b.index) >= p.num_buffers()) reject(name, "buffer " + str(b.index), "a buffer of this program");
  if (cols >= 0 && p.cols(b) != cols) reject(name, str(p.cols(b)) + " columns", str(cols));
}

void check_same_rows(const Program& p, BufferRef x, BufferRef out) {
  if (p.gathered(x) != p.gathered(out))
    reject("out", p.gathered(out) ? "a gathered buffer" : "a buffer of all rows", p.gathered(x) ? "a gathered buffer" : "a buffer of all rows");
}

void check_vector(const char* name, const std::shared_ptr<std::vector<float>>& v, int64_t wanted) {
  if (!v || int64_t(v->size()) != wanted) reject(name, v ? str(int64_t(v->size())) + " values" : "none", str(wanted));
}

void check_linear(const Program& p, const Op& op) {
  check_buffer(p, "x", op.x, op.weight->cols());
  check_buffer(p, "out", op.out, op.weight->rows());
  check_same_rows(p, op.x, op.out);
  if (op.x == op.out) reject("out", "the buffer of x", "another buffer");
  if (!op.order) return;
  if (int64_t(op.order->size()) != op.weight->cols()) reject("order", str(int64_t(op.order->size())) + " columns", str(op.weight->cols()));
  for (int32_t k : *op.order)
    if (k < 0 || k >= op.weight->cols()) reject("order", str(k), "0 to " + str(op.weight->cols() - 1));
}

void check_heads(const Program& p, const Op& op) {
  const KvCache& c = op.cache;
  check_cache(c);
  if (op.layer < 0 || op.layer >= c.num_layers) reject("layer", str(op.layer), "0 to " + str(c.num_layers - 1));
  if (op.num_heads <= 0 || op.num_heads % c.kv_heads) reject("num_heads", str(op.num_heads), "a multiple of " + str(c.kv_heads) + " KV heads");
  check_buffer(p, "qkv", op.x, int64_t(op.num_heads + 2 * c.kv_heads) * c.head_dim);
  if (p.gathered(op.x)) reject("qkv", "a gathered buffer", "a buffer of all rows");
  if (op.kind == OpKind::attention) {
    check_buffer(p, "out", op.out, int64_t(op.num_heads) * c.head_dim);
    check_same_rows(p, op.x, op.out);
    if (op.window < 0) reject("window", str(op.window), "0 (off) or more");
  } else if (!op.vector || op.vector->empty() || int64_t(op.vector->size()) * 2 > c.head_dim) {
    reject("inv_freq", op.vector ? str(int64_t(op.vector->size())) + " values" : "none", "1 to " + str(c.head_dim / 2));
  }
}

void check_rows(const Batch& b) {
  for (int64_t i = 0; i < b.rows; i++) {
    const int32_t s = b.seq_of_row[i], at = b.positions[i];
    const std::string row = "[" + str(i) + "]";
    if (s < 0 || s >= b.seqs) reject("seq_of_row" + row, str(s), "0 to " + str(b.seqs - 1));
    if (at < 0) reject("positions" + row, str(at), "0 or more");
    const bool last = i + 1 == b.rows || b.seq_of_row[i + 1] != s;
    if (last && at != b.context_lens[s] - 1) reject("positions" + row, str(at), "context_lens - 1 = " + str(b.context_lens[s] - 1) + " at a sequence's last row");
    if (!last && b.positions[i + 1] != at + 1) reject("positions[" + str(i + 1) + "]", str(b.positions[i + 1]), str(at + 1) + ", one more than the row before");
  }
}

}  // namespace

void reject(const std::string& name, const std::string& got, const std::string& wanted) {
  throw std::invalid_argument(name + ": got " + got + ", wanted " + wanted);
}

void check_cache(const KvCache& c) {
  if (!c.keys || !c.values) reject("cache", "no memory", "keys and values");
  if (c.page_size < kBlock || (c.page_size & (c.page_size - 1))) reject("page_size", str(c.page_size), "a power of two, 16 or more");
  if (c.head_dim <= 0 || c.head_dim % 16 || c.head_dim > 256) reject("head_dim", str(c.head_dim), "a multiple of 16 up to 256");
}

void check_op(const Program& p, const Op& op) {
  switch (op.kind) {
    case OpKind::embed:
      check_buffer(p, "out", op.out, op.weight->cols());
      if (p.gathered(op.out)) reject("out", "a gathered buffer", "a buffer of all rows");
      break;
    case OpKind::rms_norm:
      check_buffer(p, "x", op.x, -1);
      check_buffer(p, "out", op.out, p.cols(op.x));
      check_same_rows(p, op.x, op.out);
      check_vector("weight", op.vector, p.cols(op.x));
      break;
    case OpKind::linear:
      check_linear(p, op);
      break;
    case OpKind::rope_store:
    case OpKind::attention:
      check_heads(p, op);
      break;
    case OpKind::swiglu:
      check_buffer(p, "out", op.out, -1);
      check_buffer(p, "gate_up", op.x, 2 * p.cols(op.out));
      check_same_rows(p, op.x, op.out);
      break;
    case OpKind::add:
      check_buffer(p, "x", op.x, -1);
      check_buffer(p, "y", op.y, p.cols(op.x));
      check_buffer(p, "out", op.out, p.cols(op.x));
      check_same_rows(p, op.x, op.out);
      check_same_rows(p, op.y, op.out);
      break;
    case OpKind::gather:
      check_buffer(p, "x", op.x, -1);
      check_buffer(p, "out", op.out, p.cols(op.x));
      if (p.gathered(op.x) || !p.gathered(op.out)) reject("out", "a buffer of all rows", "a gathered buffer, from one of all rows");
      break;
  }
}

void check_batch(const Program& p, const Batch& b, int64_t vocab, int64_t cache_pages, int page_size) {
  const Limits& l = p.limits();
  if (b.rows > l.max_rows) reject("tokens", str(b.rows) + " rows", "at most " + str(l.max_rows));
  if (b.seqs > l.max_seqs) reject("context_lens", str(b.seqs) + " sequences", "at most " + str(l.max_seqs));
  if (b.pages_per_seq > l.max_pages_per_seq) reject("page_table", str(b.pages_per_seq) + " pages a sequence", "at most " + str(l.max_pages_per_seq));
  if (b.logits > l.max_logit_rows) reject("logit_rows", str(b.logits) + " rows", "at most " + str(l.max_logit_rows));
  for (int64_t i = 0; vocab > 0 && i < b.rows; i++)
    if (b.tokens[i] < 0 || b.tokens[i] >= vocab) reject("tokens[" + str(i) + "]", str(b.tokens[i]), "0 to " + str(vocab - 1));
  for (int64_t i = 0; i < b.logits; i++)
    if (b.logit_rows[i] < 0 || b.logit_rows[i] >= b.rows) reject("logit_rows[" + str(i) + "]", str(b.logit_rows[i]), "0 to " + str(b.rows - 1));
  check_rows(b);
  if (page_size <= 0) return;
  for (int64_t i = 0; i < b.rows; i++) {
    if (i + 1 < b.rows && b.seq_of_row[i + 1] == b.seq_of_row[i]) continue;
    const int64_t s = b.seq_of_row[i], needed = b.positions[i] / page_size + 1;
    if (needed > b.pages_per_seq) reject("page_table", str(b.pages_per_seq) + " pages a sequence", str(needed) + " for position " + str(b.positions[i]));
    for (int64_t n = 0; n < needed; n++) {
      const int32_t page = b.page_table[s * b.pages_per_seq + n];
      if (page < 0 || page >= cache_pages) reject("page_table[" + str(s) + "," + str(n) + "]", str(page), "0 to " + str(cache_pages - 1));
    }
  }
}

}  // namespace hone
