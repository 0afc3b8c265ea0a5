// The export table of the CUDA extension. Tensors cross as addresses and shapes with a stream, so one build serves any torch.
#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>
#include <tuple>

#include "bindings_cuda.hpp"
#include "kernels/linear/wgmma.hpp"

namespace py = pybind11;
using namespace hone::cuda;

Runs runs_of(const py::tuple& runs, bool has_min) {
  Runs made{};
  if (runs.size() > size_t(kMaxRuns)) throw std::invalid_argument("runs: got " + std::to_string(runs.size()) + ", wanted at most " + std::to_string(kMaxRuns));
  for (const auto& item : runs) {
    const auto [tile, bits, group] = item.cast<std::tuple<int, int, int>>();
    if (group < 32) throw std::invalid_argument("runs: got a group of " + std::to_string(group) + ", wanted 32, 64 or 128");
    const int64_t first = made.count ? unit_bytes(made, tile) : 0;
    made.run[made.count++] = {tile, int(first), int(tile_bytes(bits, group, has_min)), bits, group};
  }
  return made;
}

namespace {

void call_linear(uintptr_t tiles, uintptr_t x, uintptr_t y, uintptr_t partials, uintptr_t counters, const py::tuple& shape,
                 const py::tuple& format, const Device& device, uintptr_t stream, bool overlap, const py::tuple& tuning) {
  Linear c{};
  c.tiles = reinterpret_cast<const uint8_t*>(tiles);
  c.x = reinterpret_cast<const void*>(x), c.y = reinterpret_cast<void*>(y);
  c.partials = reinterpret_cast<float*>(partials), c.counters = reinterpret_cast<int*>(counters);
  c.rows = shape[0].cast<int>(), c.cols = shape[1].cast<int>(), c.outs = shape[2].cast<int>(), c.ldx = shape[3].cast<int>();
  c.bits = format[0].cast<int>(), c.group = format[1].cast<int>(), c.has_min = format[2].cast<bool>();
  c.type = format[3].cast<bool>() ? Type::bf16 : Type::f16, c.wide_out = format[4].cast<bool>();
  c.runs = runs_of(format[5].cast<py::tuple>(), c.has_min);
  c.overlap = overlap;
  c.warps = tuning[0].cast<int>(), c.ring_bytes = tuning[1].cast<int>(), c.slices = tuning[2].cast<int>();
  const int wgmma_rows = tuning[3].cast<int>();
  c.invariant = tuning[4].cast<bool>();
  py::gil_scoped_release release;
  linear(c, device, reinterpret_cast<cudaStream_t>(stream), wgmma_rows);
}

}  // namespace

void bind_attention(py::module_& m);
void bind_rows(py::module_& m);

PYBIND11_MODULE(_cuda, m) {
  py::class_<Device>(m, "Device")
      .def_readonly("sms", &Device::sms)
      .def_readonly("shared_bytes", &Device::shared_bytes)
      .def_readonly("capability", &Device::capability);
  m.attr("MAX_ROWS") = kMaxRows;
  m.attr("MAX_BANDS") = kMaxBands;
  m.attr("MAX_RUNS") = kMaxRuns;
  m.def("device_of", &device_of);
  m.def("packed_bytes", &packed_bytes);
  m.def("workspace_floats", &workspace_floats);
  m.def("linear", &call_linear);
  bind_attention(m);
  bind_rows(m);
}
