// Row kernels and sampling in the export table of the CUDA extension.
#include <pybind11/pybind11.h>

#include "bindings_cuda.hpp"
#include "kernels/rows/rows.hpp"
#include "kernels/sampling/sampling.hpp"

namespace py = pybind11;
using namespace hone::cuda;

namespace {

template <class T = void>
T* at(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

Type type_of(bool bf16) { return bf16 ? Type::bf16 : Type::f16; }
Queue queue_of(const Device& device, uintptr_t stream, bool overlap) { return {device.capability, overlap, reinterpret_cast<cudaStream_t>(stream)}; }
Number number_of(const std::string& name) {
  if (name != "float16" && name != "bfloat16" && name != "float32") throw std::invalid_argument("logits: got " + name + ", wanted float16, bfloat16 or float32");
  return name == "float16" ? Number::f16 : name == "bfloat16" ? Number::bf16 : Number::f32;
}
Table table_of(const std::string& name) {
  if (name == "tiles") return Table::tiles;
  return name == "float16" ? Table::f16 : name == "bfloat16" ? Table::bf16 : Table::f32;
}

void call_norm(uintptr_t x, bool wide, uintptr_t delta, uintptr_t picks, uintptr_t weight, uintptr_t order, uintptr_t kept, uintptr_t out, int rows, int cols,
               float eps, bool bf16, const Device& device, uintptr_t stream, bool overlap) {
  py::gil_scoped_release release;
  norm({at(x), wide, at(delta), at<int32_t>(picks), at<float>(weight), at<int32_t>(order), at<float>(kept), at(out), rows, cols, eps}, type_of(bf16),
       queue_of(device, stream, overlap));
}

void call_gated(uintptr_t gate_up, uintptr_t order, uintptr_t out, int rows, int cols, bool gelu, bool bf16, const Device& device, uintptr_t stream, bool overlap) {
  py::gil_scoped_release release;
  gated({at(gate_up), at<int32_t>(order), at(out), rows, cols, gelu ? Gate::gelu_tanh : Gate::silu}, type_of(bf16), queue_of(device, stream, overlap));
}

void call_sum(uintptr_t x, bool wide_x, uintptr_t y, uintptr_t bias, uintptr_t picks, uintptr_t order, uintptr_t out, bool wide_out, int rows, int cols, bool bf16,
              const Device& device, uintptr_t stream, bool overlap) {
  py::gil_scoped_release release;
  sum_rows({at(x), at(y), at<float>(bias), at<int32_t>(picks), at<int32_t>(order), at(out), wide_x, wide_out, rows, cols}, type_of(bf16),
           queue_of(device, stream, overlap));
}

void call_embed(uintptr_t table, const std::string& kind, int bits, int group, bool has_min, uintptr_t tokens, uintptr_t latest, uintptr_t out, int rows, int cols,
                int vocab, float scale, const Device& device, uintptr_t stream, bool overlap) {
  const Table table_kind = table_of(kind);
  py::gil_scoped_release release;
  embed({at(table), table_kind, bits, group, has_min, at<int32_t>(tokens), at<int32_t>(latest), at<float>(out), rows, cols, vocab, scale},
        queue_of(device, stream, overlap));
}

void call_dequantize(uintptr_t tiles, int bits, int group, bool has_min, const py::tuple& runs, int cols, int first_row, int rows, uintptr_t out, bool bf16, const Device& device,
                     uintptr_t stream, bool overlap) {
  const Runs found = runs_of(runs, has_min);
  py::gil_scoped_release release;
  dequantize({at<uint8_t>(tiles), bits, group, has_min, cols, first_row, rows, at(out), found}, type_of(bf16), queue_of(device, stream, overlap));
}

void call_sample(uintptr_t logits, const std::string& type, int rows, int vocab, int64_t stride, uintptr_t settings, uintptr_t counts, uintptr_t biases,
                 uintptr_t tokens, const Device& device, uintptr_t stream) {
  const Number number = number_of(type);
  py::gil_scoped_release release;
  sample({at(logits), number, rows, vocab, stride, at<SampleRow>(settings), at<int32_t>(counts), at<float>(biases), at<int32_t>(tokens)}, device,
         reinterpret_cast<cudaStream_t>(stream));
}

void call_logprobs(uintptr_t logits, const std::string& type, int rows, int vocab, int64_t stride, uintptr_t settings, uintptr_t tokens, int width,
                   uintptr_t chosen, uintptr_t top_ids, uintptr_t top, uintptr_t stream) {
  const Number number = number_of(type);
  py::gil_scoped_release release;
  logprobs({at(logits), number, rows, vocab, stride, at<SampleRow>(settings), at<int32_t>(tokens), width, at<float>(chosen), at<int32_t>(top_ids), at<float>(top)},
           reinterpret_cast<cudaStream_t>(stream));
}

}  // namespace

void bind_rows(py::module_& m) {
  m.attr("MAX_VOCAB") = kMaxVocab;
  m.attr("PROMPT_TOKEN") = kPromptToken;
  m.def("norm", &call_norm);
  m.def("gated", &call_gated);
  m.def("sum_rows", &call_sum);
  m.def("embed", &call_embed);
  m.def("dequantize", &call_dequantize);
  m.def("sample", &call_sample);
  m.def("logprobs", &call_logprobs);
}
