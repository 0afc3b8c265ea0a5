// Attention in the export table of the CUDA extension. Tuples keep the order of the structs' fields.
#include <pybind11/pybind11.h>

#include "kernels/attention/attention.hpp"

namespace py = pybind11;
using namespace hone::cuda;

namespace {

template <class T = void>
T* at(const py::tuple& t, size_t index) {
  return reinterpret_cast<T*>(t[index].cast<uintptr_t>());
}

// cache: keys, values, kv_heads, head_dim, page_shift, bits, key_scales, value_scales. table: address, row stride.
KVPages pages_of(const py::tuple& cache, const py::tuple& table) {
  KVPages pages{};
  pages.keys = at(cache, 0), pages.values = at(cache, 1), pages.key_scales = at(cache, 6), pages.value_scales = at(cache, 7);
  pages.kv_heads = cache[2].cast<int>(), pages.head_dim = cache[3].cast<int>();
  pages.page_shift = cache[4].cast<int>(), pages.bits = cache[5].cast<int>();
  pages.table = at<int>(table, 0), pages.table_stride = table[1].cast<int>();
  return pages;
}

// out: address, stride. sequences: context_lens, first_rows, count. form: heads, window, scale, softcap, split. scratch: partials, counters.
// launch: bf16, max_context, decode, prefill_rows, overlap.
void call_attention(const py::tuple& q, const py::tuple& out, const py::tuple& cache, const py::tuple& table, const py::tuple& sequences, const py::tuple& form,
                    const py::tuple& scratch, const py::tuple& launch, const Device& device, uintptr_t stream) {
  AttentionCall c{};
  c.p.q = at(q, 0), c.p.ldq = q[1].cast<int64_t>(), c.p.out = at(out, 0), c.p.ldo = out[1].cast<int64_t>();
  c.p.cache = pages_of(cache, table);
  c.p.context_lens = at<int>(sequences, 0), c.p.first_rows = at<int>(sequences, 1), c.p.seqs = sequences[2].cast<int>();
  c.p.heads = form[0].cast<int>(), c.p.window = form[1].cast<int>(), c.p.scale = form[2].cast<float>(), c.p.softcap = form[3].cast<float>();
  c.p.split = form[4].cast<int>();
  c.p.partials = at<float>(scratch, 0), c.p.counters = at<int>(scratch, 1);
  c.type = launch[0].cast<bool>() ? Type::bf16 : Type::f16;
  c.max_context = launch[1].cast<int>(), c.decode = launch[2].cast<bool>(), c.prefill_rows = launch[3].cast<int>(), c.overlap = launch[4].cast<bool>();
  py::gil_scoped_release release;
  attention(c, device, reinterpret_cast<cudaStream_t>(stream));
}

// rows: positions, seq_of_row, count. form: heads, inv_freq, how many, factor. launch: bf16, overlap.
void call_rope_store(const py::tuple& qkv, const py::tuple& cache, const py::tuple& table, const py::tuple& rows, const py::tuple& form,
                     const py::tuple& launch, const Device& device, uintptr_t stream) {
  RopeStoreCall c{};
  c.p.qkv = at(qkv, 0), c.p.ld = qkv[1].cast<int64_t>();
  c.p.cache = pages_of(cache, table);
  c.p.positions = at<int>(rows, 0), c.p.seq_of_row = at<int>(rows, 1), c.p.rows = rows[2].cast<int>();
  c.p.heads = form[0].cast<int>(), c.p.inv_freq = at<float>(form, 1), c.p.half = form[2].cast<int>(), c.p.factor = form[3].cast<float>();
  c.type = launch[0].cast<bool>() ? Type::bf16 : Type::f16, c.overlap = launch[1].cast<bool>();
  py::gil_scoped_release release;
  rope_store(c, device, reinterpret_cast<cudaStream_t>(stream));
}

}  // namespace

void bind_attention(py::module_& m) {
  m.attr("MAX_SPLITS") = kMaxSplits;
  m.attr("CACHE_BITS") = py::make_tuple(16, 8, 4);
  m.def("attention_floats", &attention_floats);
  m.def("head_tiles", &head_tiles);
  m.def("attention", &call_attention);
  m.def("rope_store", &call_rope_store);
}
