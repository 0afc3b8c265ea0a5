// Where the values of a span are found, worked out in Python (core/dialects) and handed over as data.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace hone::wire {

// Lets tables of texts be asked with views.
struct TextHash : std::hash<std::string_view> {
  using is_transparent = void;
};

using Indices = std::vector<int>;  // of attributes, in order of preference
using Words = std::unordered_map<std::string, std::string, TextHash, std::equal_to<>>;

// A JSON text with holes: `literal`, then the value of attribute `index` (-1: none).
struct Piece {
  std::string literal;
  int index = -1;
};
using Template = std::vector<Piece>;

struct Source {
  int key = -1;
  Template tree;
};

struct Kept {
  std::string key;  // with quotes and colon
  int index = -1;
  Indices repeats;  // dropped where one of these says the same
};

struct Spec {
  Indices name, model, session, user, trace_name, prompt_name, prompt_version, environment, parameters;
  Indices first_token_seconds, first_token_ms, status_message, error_type, level, release, version, operation, tags;
  std::vector<std::pair<int, Words>> types;
  std::string guess;
  bool is_disguised = false;  // a generation that calls itself a span
  Template parameter_pairs, metadata_pairs;
  Source input, output;
  int metadata = -1, usage_details = -1;
  std::vector<Kept> kept;
  std::vector<std::pair<std::string, Indices>> tokens;
  bool has_parts = false;
};

// The text columns that the reference cuts to a length.
enum class Column { name, status_message, model, input, output, prompt_name, prompt_version, session_id, user_id, environment, release, version,
                    trace_name, scope, count };
inline constexpr const char* kColumnNames[] = {"name", "status_message", "model", "input", "output", "prompt_name", "prompt_version",
                                               "session_id", "user_id", "environment", "release", "version", "trace_name", "scope"};

// What holds for every span.
struct Rules {
  std::array<size_t, size_t(Column::count)> limits{};  // bytes that a text column surely takes
  std::unordered_set<std::string, TextHash, std::equal_to<>> aggregates, special_events, aliases;
  Words levels, openai_usage;
  std::vector<std::string> environment, exception_message;
  std::string release, version, language;  // attributes of a resource
};

}  // namespace hone::wire
