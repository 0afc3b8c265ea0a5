// The platform's extension: OTLP exports into encoded rows. It knows neither torch nor the engine.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "wire/export.hpp"

namespace py = pybind11;
using namespace hone::wire;

namespace {

constexpr size_t kMaxSpecs = 1024, kMaxModels = 1024;
constexpr size_t kSeqAt = 18;  // in a row: number of columns, project id with its length, length of seq

template <class T>
T get(const py::dict& from, const char* name) {
  return py::cast<T>(from[name]);
}

Template template_of(const py::handle& pieces) {
  Template out;
  for (const auto& piece : py::cast<std::vector<std::pair<std::string, int>>>(pieces)) out.push_back({piece.first, piece.second});
  return out;
}

Source source_of(const py::handle& given) {
  const auto [key, tree] = py::cast<std::pair<int, py::object>>(given);
  return {key, template_of(tree)};
}

std::shared_ptr<const Spec> spec_of(const py::dict& d) {
  auto spec = std::make_shared<Spec>();
  const std::pair<const char*, Indices Spec::*> places[] = {
      {"name", &Spec::name}, {"model", &Spec::model}, {"session", &Spec::session}, {"user", &Spec::user},
      {"trace_name", &Spec::trace_name}, {"prompt_name", &Spec::prompt_name}, {"prompt_version", &Spec::prompt_version},
      {"environment", &Spec::environment}, {"parameters", &Spec::parameters}, {"first_token_seconds", &Spec::first_token_seconds},
      {"first_token_ms", &Spec::first_token_ms}, {"status_message", &Spec::status_message}, {"error_type", &Spec::error_type},
      {"level", &Spec::level}, {"release", &Spec::release}, {"version", &Spec::version}, {"operation", &Spec::operation}, {"tags", &Spec::tags}};
  for (const auto& [name, member] : places) (*spec).*member = get<Indices>(d, name);
  spec->types = get<std::vector<std::pair<int, Words>>>(d, "types");
  spec->guess = get<std::string>(d, "guess");
  spec->is_disguised = get<bool>(d, "is_disguised");
  spec->parameter_pairs = template_of(d["parameter_pairs"]);
  spec->metadata_pairs = template_of(d["metadata_pairs"]);
  spec->input = source_of(d["input"]);
  spec->output = source_of(d["output"]);
  spec->metadata = get<int>(d, "metadata");
  spec->usage_details = get<int>(d, "usage_details");
  for (const auto& [key, index, repeats] : get<std::vector<std::tuple<std::string, int, Indices>>>(d, "kept"))
    spec->kept.push_back({key, index, repeats});
  spec->tokens = get<std::vector<std::pair<std::string, Indices>>>(d, "tokens");
  spec->has_parts = get<bool>(d, "has_parts");
  return spec;
}

Rules rules_of(const py::dict& d) {
  Rules rules;
  const auto limits = get<py::dict>(d, "limits");
  for (size_t i = 0; i < rules.limits.size(); i++) rules.limits[i] = get<size_t>(limits, kColumnNames[i]);
  rules.aggregates = get<decltype(rules.aggregates)>(d, "aggregates");
  rules.special_events = get<decltype(rules.special_events)>(d, "special_events");
  rules.aliases = get<decltype(rules.aliases)>(d, "aliases");
  rules.levels = get<Words>(d, "levels");
  rules.openai_usage = get<Words>(d, "openai_usage");
  rules.environment = get<std::vector<std::string>>(d, "environment");
  rules.exception_message = get<std::vector<std::string>>(d, "exception_message");
  rules.release = get<std::string>(d, "release");
  rules.version = get<std::string>(d, "version");
  rules.language = get<std::string>(d, "language");
  return rules;
}

// Tables are replaced, never changed: a decoder without the GIL goes on with the one it began with.
class RateTable {
 public:
  RateTable() : rates_(std::make_shared<const Rates>()) {}

  void put(const std::string& model, int64_t flat_up_to, uint64_t since_ns, const std::map<std::string, int64_t>& units) {
    auto next = rates_->size() < kMaxModels ? std::make_shared<Rates>(*rates_) : std::make_shared<Rates>();
    Rate& rate = (*next)[model];
    rate = {flat_up_to, since_ns, {}};
    for (const auto& [part, unit] : units) rate.per_part[part] = unit;
    rates_ = std::move(next);
  }

  std::shared_ptr<const Rates> rates() const { return rates_; }

 private:
  std::shared_ptr<const Rates> rates_;
};

py::object keyed(const std::optional<std::pair<std::string, std::string>>& value) {
  if (!value) return py::none();
  return py::make_tuple(py::bytes(value->first), value->second);
}

template <class Set>
py::tuple texts(const Set& values) {
  py::tuple out(values.size());
  size_t i = 0;
  for (const std::string& value : values) out[i++] = value;
  return out;
}

py::tuple part_of(const Part& p) {
  return py::make_tuple(py::bytes(p.trace_id), p.rows, p.started_us, p.ended_us, p.latest_start_us, p.first_token_us, keyed(p.name),
                        keyed(p.input), keyed(p.output), p.user, p.session, p.environment, p.release, p.version, texts(p.models),
                        texts(p.tags), texts(p.prompts), p.rows->size(), p.errors, p.input_tokens, p.output_tokens, p.total_tokens, p.decode_tokens,
                        p.decode_us, p.cost ? py::object(py::str(decimal(*p.cost))) : py::none(), p.unpriced);
}

class Decoder {
 public:
  explicit Decoder(const py::dict& rules) : rules_(rules_of(rules)), specs_(std::make_shared<const Specs>()) {}

  void learn(const std::vector<std::pair<std::vector<std::string>, py::object>>& found) {
    auto next = specs_->size() < kMaxSpecs ? std::make_shared<Specs>(*specs_) : std::make_shared<Specs>();
    for (const auto& [names, spec] : found) {
      const std::vector<Text> keys(names.begin(), names.end());
      (*next)[signature(keys)] = spec.is_none() ? nullptr : spec_of(py::cast<py::dict>(spec));
    }
    specs_ = std::move(next);
  }

  py::object decode(const py::bytes& body, int64_t project_id, const RateTable& table, uint64_t now_ns, std::pair<int64_t, int64_t> window,
                    bool asks) {
    const std::string_view bytes = body;
    const auto specs = specs_;
    const auto rates = table.rates();
    std::optional<Decoded> decoded;
    {
      py::gil_scoped_release release;
      try {
        decoded = hone::wire::decode(bytes, {rules_, *specs, *rates, project_id, now_ns, window, asks});
      } catch (const Unsupported&) {
      }
    }
    if (!decoded) return py::none();
    py::list parts;
    if (decoded->is_complete())
      for (const Part& part : decoded->parts) parts.append(part_of(part));
    py::list unknown;
    for (const Names& names : decoded->unknown_names) unknown.append(py::tuple(py::cast(names)));
    return py::make_tuple(parts, py::bytes(decoded->rest), unknown, texts(decoded->unknown_models));
  }

 private:
  Rules rules_;
  std::shared_ptr<const Specs> specs_;
};

// The rows of a batch as PostgreSQL's binary COPY wants them, under the number of their transaction.
py::bytes copy_data(const std::vector<std::shared_ptr<Rows>>& all, int64_t seq) {
  constexpr std::string_view head("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19), tail("\377\377", 2);
  size_t size = head.size() + tail.size();
  for (const auto& rows : all) size += rows->data.size();
  py::bytes made(nullptr, size);
  char* out = PyBytes_AS_STRING(made.ptr());
  out = std::copy(head.begin(), head.end(), out);
  for (const auto& rows : all) {
    char* const base = out;
    out = std::copy(rows->data.begin(), rows->data.end(), out);
    for (const uint32_t start : rows->starts)
      for (int i = 0; i < 8; i++) base[start + kSeqAt + size_t(i)] = char(uint64_t(seq) >> (56 - 8 * i));
  }
  std::copy(tail.begin(), tail.end(), out);
  return made;
}

py::list encoded(const Rows& rows) {
  py::list out;
  for (size_t i = 0; i < rows.size(); i++) {
    const size_t end = i + 1 < rows.size() ? rows.starts[i + 1] : rows.data.size();
    out.append(py::bytes(rows.data.substr(rows.starts[i], end - rows.starts[i])));
  }
  return out;
}

}  // namespace

PYBIND11_MODULE(_wire, m) {
  py::class_<Rows, std::shared_ptr<Rows>>(m, "Rows")
      .def("__len__", &Rows::size)
      .def("encoded", &encoded)
      .def("span_ids", [](const Rows& rows) { return py::bytes(rows.span_ids); })
      .def_property_readonly("num_bytes", [](const Rows& rows) { return rows.data.size(); });
  py::class_<RateTable>(m, "RateTable").def(py::init<>()).def("put", &RateTable::put);
  py::class_<Decoder>(m, "Decoder").def(py::init<const py::dict&>()).def("learn", &Decoder::learn).def("decode", &Decoder::decode);
  m.def("copy_data", &copy_data);
}
