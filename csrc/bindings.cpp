// The only export table. Tensors cross as (address, shape, dtype) tuples, small host arrays as numpy.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "hone/check.hpp"
#include "hone/packed_weight.hpp"
#include "hone/program.hpp"
#include "hone/sampler.hpp"
#include "ops/probe.hpp"

namespace py = pybind11;
using namespace hone;

namespace {

template <class T>
using Array = py::array_t<T, py::array::c_style>;

template <class T>
const T* pointer(uintptr_t address) {
  return reinterpret_cast<const T*>(address);
}

std::shared_ptr<std::vector<float>> floats(const std::optional<Array<float>>& a, int64_t padded) {
  if (!a) return nullptr;
  auto v = std::make_shared<std::vector<float>>(a->data(), a->data() + a->size());
  if (padded > int64_t(v->size())) v->resize(size_t(padded), 0.f);
  return v;
}

std::shared_ptr<PackedWeight> pack_quantized(uintptr_t codes, uintptr_t high, uintptr_t scales, uintptr_t mins, int64_t rows,
                                             int64_t cols, int bits, int group) {
  py::gil_scoped_release release;
  return PackedWeight::quantized({rows, cols, bits, group, pointer<uint8_t>(codes), pointer<uint8_t>(high), pointer<uint16_t>(scales),
                                  pointer<uint16_t>(mins)});
}

std::shared_ptr<PackedWeight> pack_dense(uintptr_t data, const std::string& dtype, int64_t rows, int64_t cols) {
  const Dtype kind = dtype == "float16" ? Dtype::f16 : dtype == "bfloat16" ? Dtype::bf16 : Dtype::f32;
  py::gil_scoped_release release;
  return PackedWeight::dense(pointer<void>(data), kind, rows, cols);
}

Array<float> unpack(const PackedWeight& w, std::optional<std::vector<int64_t>> rows) {
  const int64_t n = rows ? int64_t(rows->size()) : w.rows();
  Array<float> out({n, w.cols()});
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = rows ? (*rows)[size_t(i)] : i;
    if (row < 0 || row >= w.rows()) reject("rows", std::to_string(row), "0 to " + std::to_string(w.rows() - 1));
    w.read_row(row, out.mutable_data() + i * w.cols());
  }
  return out;
}

// A program with what its operations say about the batches it can take.
class Recorded {
 public:
  Recorded(int64_t rows, int64_t seqs, int64_t pages, int64_t logits, int threads, const std::string& simd)
      : program({rows, seqs, pages, logits}, threads, simd.empty() ? simd_best() : simd_parse(simd.c_str())) {}

  void record(Op op) {
    check_op(program, op);
    if (op.kind == OpKind::embed) vocab = vocab ? std::min(vocab, op.weight->rows()) : op.weight->rows();
    if (op.cache.keys) {
      pages = pages ? std::min(pages, op.cache.num_pages) : op.cache.num_pages;
      page_size = op.cache.page_size;
    }
    program.record(std::move(op));
  }

  void run(const Array<int32_t>& tokens, const Array<int32_t>& positions, const Array<int32_t>& seq_of_row,
           const Array<int32_t>& page_table, const Array<int32_t>& context_lens, const Array<int32_t>& logit_rows) {
    Batch b;
    b.rows = tokens.size(), b.seqs = context_lens.size(), b.logits = logit_rows.size();
    b.tokens = tokens.data(), b.positions = positions.data(), b.seq_of_row = seq_of_row.data();
    b.page_table = page_table.data(), b.context_lens = context_lens.data(), b.logit_rows = logit_rows.data();
    if (positions.size() != b.rows) reject("positions", std::to_string(positions.size()) + " rows", std::to_string(b.rows));
    if (seq_of_row.size() != b.rows) reject("seq_of_row", std::to_string(seq_of_row.size()) + " rows", std::to_string(b.rows));
    if (page_table.ndim() != 2 || page_table.shape(0) != b.seqs)
      reject("page_table", std::to_string(page_table.ndim()) + " dimensions, " + std::to_string(page_table.size()) + " entries",
             "a row for each of " + std::to_string(b.seqs) + " sequences");
    b.pages_per_seq = page_table.shape(1);
    check_batch(program, b, vocab, pages, page_size);
    py::gil_scoped_release release;
    program.run(b);
  }

  Program program;
  int64_t vocab = 0, pages = 0;
  int page_size = 0;
};

KvCache cache_of(const py::tuple& t) {
  KvCache c;
  c.keys = reinterpret_cast<uint8_t*>(t[0].cast<uintptr_t>());
  c.values = reinterpret_cast<uint8_t*>(t[1].cast<uintptr_t>());
  c.num_pages = t[2].cast<int64_t>();
  c.page_size = t[3].cast<int>();
  c.num_layers = t[4].cast<int>();
  c.kv_heads = t[5].cast<int>();
  c.head_dim = t[6].cast<int>();
  c.half = t[7].cast<bool>();
  return c;
}

Op make_op(OpKind kind, int x, int out) {
  Op op;
  op.kind = kind;
  op.x = {x};
  op.out = {out};
  return op;
}

py::array view(Recorded& self, const py::object& owner, int buffer, int64_t rows) {
  const BufferRef b{buffer};
  const int64_t stride = self.program.stride(b);
  return py::array_t<float>({rows, self.program.cols(b)}, {stride * 4, int64_t(4)}, self.program.data(b), owner);
}

void bind_program(py::module_& m) {
  py::class_<Recorded>(m, "Program")
      .def(py::init<int64_t, int64_t, int64_t, int64_t, int, std::string>())
      .def("buffer", [](Recorded& s, int64_t cols, bool gathered) {
        if (cols <= 0) reject("cols", std::to_string(cols), "1 or more");
        return s.program.buffer(cols, gathered).index;
      })
      .def("embed", [](Recorded& s, std::shared_ptr<PackedWeight> w, int out, float scale) {
        Op op = make_op(OpKind::embed, -1, out);
        op.weight = std::move(w), op.value = scale;
        s.record(std::move(op));
      })
      .def("rms_norm", [](Recorded& s, int x, const Array<float>& weight, float eps, int out) {
        Op op = make_op(OpKind::rms_norm, x, out);
        op.vector = floats(weight, 0), op.value = eps;
        s.record(std::move(op));
      })
      .def("linear", [](Recorded& s, int x, std::shared_ptr<PackedWeight> w, int out, std::optional<Array<float>> bias, bool add,
                        std::optional<Array<int32_t>> order) {
        if (bias && bias->size() != w->rows()) reject("bias", std::to_string(bias->size()) + " values", std::to_string(w->rows()));
        Op op = make_op(OpKind::linear, x, out);
        op.vector = floats(bias, w->units() * kUnitRows), op.weight = std::move(w), op.add = add;
        if (order) op.order = std::make_shared<std::vector<int32_t>>(order->data(), order->data() + order->size());
        s.record(std::move(op));
      })
      .def("rope_store", [](Recorded& s, int qkv, const py::tuple& cache, int layer, int heads, const Array<float>& inv_freq, float factor) {
        Op op = make_op(OpKind::rope_store, qkv, qkv);
        op.cache = cache_of(cache), op.layer = layer, op.num_heads = heads, op.vector = floats(inv_freq, 0), op.value = factor;
        s.record(std::move(op));
      })
      .def("attention", [](Recorded& s, int qkv, const py::tuple& cache, int layer, int out, int heads, float scale, int window) {
        Op op = make_op(OpKind::attention, qkv, out);
        op.cache = cache_of(cache), op.layer = layer, op.num_heads = heads, op.value = scale, op.window = window;
        s.record(std::move(op));
      })
      .def("swiglu", [](Recorded& s, int x, int out) { s.record(make_op(OpKind::swiglu, x, out)); })
      .def("add", [](Recorded& s, int x, int y, int out) {
        Op op = make_op(OpKind::add, x, out);
        op.y = {y};
        s.record(std::move(op));
      })
      .def("gather", [](Recorded& s, int x, int out) { s.record(make_op(OpKind::gather, x, out)); })
      .def("run", &Recorded::run)
      .def("view", [](py::object self, int buffer, int64_t rows) { return view(self.cast<Recorded&>(), self, buffer, rows); })
      .def("materialized", [](Recorded& s, int buffer) { return s.program.materialized({buffer}); })
      .def_property_readonly("threads", [](Recorded& s) { return s.program.threads(); })
      .def_property_readonly("scratch_bytes", [](Recorded& s) { return s.program.scratch_bytes(); })
      .def("measure", [](Recorded& s, bool on) {
        s.program.times_wanted = on;
        s.program.reset_times();
      })
      .def("times", [](Recorded& s) {
        py::list out;
        for (const auto& t : s.program.times()) out.append(py::make_tuple(t.name, t.seconds, t.best, t.calls));
        return out;
      });
}

const SamplingKernels& sampling_kernels() {
  static const SamplingKernels* kernels = kernels_of(simd_best()).sampling;
  return *kernels;
}

// The arrays of a SampleBatch, read from the object itself and kept for the duration of the call.
class BatchArrays {
 public:
  BatchArrays(const py::object& batch, int64_t rows) : batch_(batch), rows_(rows) {}

  template <class T>
  const T* get(const char* name) {
    const auto array = Array<T>::ensure(batch_.attr(name));
    if (!array) throw py::error_already_set();
    if (array.size() != rows_) reject(name, std::to_string(array.size()) + " rows", std::to_string(rows_));
    kept_.push_back(array);
    return array.data();
  }

  std::vector<const float*> biases(int64_t vocab) {
    const py::list list = batch_.attr("biases");
    if (int64_t(list.size()) != rows_) reject("biases", std::to_string(list.size()) + " rows", std::to_string(rows_));
    std::vector<const float*> found;
    for (const auto& item : list) {
      const auto array = Array<float>::ensure(item);
      if (!array) throw py::error_already_set();
      if (array.size() && array.size() != vocab) reject("biases", std::to_string(array.size()) + " numbers", std::to_string(vocab) + " or none");
      kept_.push_back(array);
      found.push_back(array.size() ? array.data() : nullptr);
    }
    return found;
  }

  void histories(std::vector<const int32_t*>& data, std::vector<int64_t>& lens) {
    const py::list list = batch_.attr("histories");
    if (int64_t(list.size()) != rows_) reject("histories", std::to_string(list.size()) + " rows", std::to_string(rows_));
    for (const auto& item : list) {
      const auto array = Array<int32_t>::ensure(item);
      if (!array) throw py::error_already_set();
      kept_.push_back(array);
      data.push_back(array.data());
      lens.push_back(array.size());
    }
  }

 private:
  const py::object& batch_;
  int64_t rows_;
  std::vector<py::array> kept_;
};

py::tuple sample(uintptr_t logits, int64_t rows, int64_t vocab, int64_t ld, const py::object& batch, int threads) {
  SampleArgs s{};
  s.rows = rows, s.vocab = vocab, s.ld = ld, s.logits = pointer<float>(logits);
  BatchArrays a(batch, rows);
  s.temperature = a.get<float>("temperature"), s.top_p = a.get<float>("top_p"), s.min_p = a.get<float>("min_p");
  s.typical = a.get<float>("typical");
  s.repetition = a.get<float>("repetition"), s.presence = a.get<float>("presence"), s.frequency = a.get<float>("frequency");
  s.top_k = a.get<int32_t>("top_k"), s.num_logprobs = a.get<int32_t>("num_logprobs");
  s.prompt_lens = a.get<int32_t>("prompt_lens");
  s.seeds = a.get<uint64_t>("seeds"), s.positions = a.get<int64_t>("positions");
  std::vector<const int32_t*> histories;
  std::vector<int64_t> lens;
  a.histories(histories, lens);
  s.histories = histories.data(), s.history_lens = lens.data();
  const std::vector<const float*> biases = a.biases(vocab);
  s.biases = biases.data();
  for (int64_t r = 0; r < rows; r++) s.width = std::max<int64_t>(s.width, s.num_logprobs[r]);
  Array<int32_t> tokens(rows), ids({rows, s.width});
  Array<float> logprobs(rows), top({rows, s.width});
  std::fill_n(ids.mutable_data(), ids.size(), -1);
  std::fill_n(logprobs.mutable_data(), rows, std::numeric_limits<float>::quiet_NaN());
  std::fill_n(top.mutable_data(), top.size(), std::numeric_limits<float>::quiet_NaN());
  s.tokens = tokens.mutable_data(), s.top_ids = ids.mutable_data();
  s.logprobs = logprobs.mutable_data(), s.top_logprobs = top.mutable_data();
  {
    py::gil_scoped_release release;
    sample_rows(s, sampling_kernels(), threads);
  }
  return py::make_tuple(tokens, logprobs, ids, top);
}

Array<int32_t> greedy(uintptr_t logits, int64_t rows, int64_t vocab, int64_t ld) {
  Array<int32_t> tokens(rows);
  greedy_rows(pointer<float>(logits), rows, vocab, ld, sampling_kernels(), tokens.mutable_data());
  return tokens;
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  m.doc() = "Native kernels of hone_engine; call them through hone_engine.kernels.";
  py::class_<PackedWeight, std::shared_ptr<PackedWeight>>(m, "PackedWeight")
      .def_property_readonly("nbytes", &PackedWeight::nbytes)
      .def("unpack", &unpack);
  m.def("pack_quantized", &pack_quantized);
  m.def("pack_dense", &pack_dense);
  bind_program(m);
  m.def("huge_zeros", [](int64_t bytes) {
    auto* span = new HugeSpan(huge_allocate(size_t(bytes)));
    return py::array_t<uint8_t>({bytes}, {int64_t(1)}, span->data, py::capsule(span, [](void* p) { delete static_cast<HugeSpan*>(p); }));
  });
  m.def("sample", &sample);
  m.def("greedy", &greedy);
  m.def("counter_uniform", &counter_uniform);
  m.def("physical_cores", &physical_cores);
  m.def("simd_best", [] { return simd_name(simd_best()); });
  m.def("simd_levels", [] {
    std::vector<std::string> names;
    for (Simd level : {Simd::scalar, Simd::avx2, Simd::avx512})
      if (simd_available(level)) names.push_back(simd_name(level));
    return names;
  });
  m.def("read_bandwidth", &read_bandwidth, py::call_guard<py::gil_scoped_release>());
}
