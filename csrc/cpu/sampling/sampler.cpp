// Penalties, a bias, truncation by top-k, top-p, min-p and typical-p, and a draw by a counter generator.
//
// Greedy rows are one pass. Drawn rows without truncation are two (exponentials, then a walk over their running sum).
// With truncation only candidates are sorted: the exponentials are bucketed by their binary exponent and top mantissa
// bits, buckets are taken from the top until they hold top_k tokens or top_p of the mass, and only those are sorted: some
// hundreds of 49,152. Rows are dealt over the threads; a draw depends on (seed, position) and its own logits only.
#include "hone/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hone {
namespace {

struct Candidate {
  float weight;
  int32_t id;
  bool operator<(const Candidate& o) const { return weight > o.weight || (weight == o.weight && id < o.id); }
};

uint64_t mix(uint64_t state, uint64_t add) {
  state += 0x9E3779B97F4A7C15ull * (add | 1) + add;
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EBull;
  return state ^ (state >> 31);
}

class Row {
 public:
  Row(const SampleArgs& a, const SamplingKernels& k, int64_t row) : a_(a), k_(k), row_(row), raw_(a.logits + row * a.ld), x_(raw_) {}

  void run() {
    penalize();
    add_bias();
    const int32_t token = a_.temperature[row_] > 0.f ? draw() : k_.argmax(x_, a_.vocab);
    a_.tokens[row_] = token;
    if (a_.num_logprobs[row_] >= 0) report(token);
  }

 private:
  void penalize() {
    const int64_t n = a_.history_lens[row_];
    const float repetition = a_.repetition[row_], presence = a_.presence[row_], frequency = a_.frequency[row_];
    if (!n || (repetition == 1.f && presence == 0.f && frequency == 0.f)) return;
    penalized().assign(raw_, raw_ + a_.vocab);
    float* x = penalized().data();
    std::unordered_map<int32_t, int32_t> made;   // token -> times generated
    for (int64_t i = 0; i < n; i++) made[a_.histories[row_][i]] += i >= a_.prompt_lens[row_];
    for (const auto& [id, count] : made) {
      if (id < 0 || id >= a_.vocab) continue;
      x[id] = x[id] > 0.f ? x[id] / repetition : x[id] * repetition;
      if (count) x[id] -= presence + frequency * float(count);
    }
    x_ = x;
  }

  void add_bias() {
    const float* bias = a_.biases[row_];
    if (!bias) return;
    auto& own = penalized();
    if (x_ == raw_) own.assign(raw_, raw_ + a_.vocab);
    for (int64_t i = 0; i < a_.vocab; i++) own[size_t(i)] += bias[i];
    x_ = own.data();
  }

  int32_t draw() {
    const int64_t vocab = a_.vocab;
    const int32_t top_k = a_.top_k[row_];
    const float top_p = a_.top_p[row_], min_p = a_.min_p[row_], typical = a_.typical[row_];
    const double u = counter_uniform(a_.seeds[row_], a_.positions[row_]);
    auto& w = weights();
    w.resize(size_t(vocab));
    const double total = k_.exp_sum(x_, vocab, k_.max(x_, vocab), 1.f / a_.temperature[row_], w.data());
    const bool whole = (top_k <= 0 || top_k >= vocab) && top_p >= 1.f && min_p <= 0.f;
    if (whole && typical >= 1.f) return walk(w, total * u);
    auto& found = whole ? all_with_weight(w) : candidates(w, top_k, top_p, min_p, total);
    if (found.empty()) return k_.argmax(x_, vocab);
    if (!whole) truncate(found, top_k, top_p, min_p, total);
    if (typical < 1.f) keep_typical(found, typical);
    return pick(found, u);
  }

  int32_t walk(const std::vector<float>& w, double at) const {
    double sum = 0;
    int32_t latest = 0;
    for (int64_t i = 0; i < a_.vocab; i += 256) {
      const int64_t end = std::min(i + 256, a_.vocab);
      float lanes[8] = {};
      for (int64_t j = i; j < end; j++) lanes[j % 8] += w[size_t(j)];
      float part = 0;
      for (float lane : lanes) part += lane;
      if (sum + double(part) > at) {
        double inside = sum;
        for (int64_t j = i; j < end; j++) {
          if (w[size_t(j)] > 0.f) latest = int32_t(j);
          inside += double(w[size_t(j)]);
          if (inside > at) return int32_t(j);
        }
      }
      sum += double(part);
    }
    return latest ? latest : k_.argmax(x_, a_.vocab);
  }

  // Sorted tokens that hold at least top_k entries and top_p of the mass (all that truncation can keep).
  std::vector<Candidate>& candidates(const std::vector<float>& w, int32_t top_k, float top_p, float min_p, double total) const {
    constexpr int kBuckets = 4096;
    static thread_local std::vector<int32_t> count;
    static thread_local std::vector<double> mass;
    count.assign(kBuckets, 0);
    mass.assign(kBuckets, 0);
    const auto bucket = [](float v) {
      uint32_t bits;
      std::memcpy(&bits, &v, 4);
      return int(bits >> 19) & (kBuckets - 1);   // exponent and four bits of mantissa; weights lie in [0, 1]
    };
    for (float v : w) {
      const int b = bucket(v);
      count[size_t(b)]++;
      mass[size_t(b)] += double(v);
    }
    int64_t have = 0;
    double sum = 0;
    int low = kBuckets - 1;
    const int floor = top_k <= 0 ? bucket(min_p) : 0;   // with top_k the kept mass must be known first
    for (; low > floor; low--) {
      have += count[size_t(low)];
      sum += mass[size_t(low)];
      if ((top_k > 0 && have >= top_k) || (top_p < 1.f && top_k <= 0 && sum >= double(top_p) * total)) break;
    }
    auto& found = candidate_list();
    found.clear();
    for (size_t i = 0; i < w.size(); i++)
      if (bucket(w[i]) >= low && w[i] > 0.f) found.push_back({w[i], int32_t(i)});
    std::sort(found.begin(), found.end());
    return found;
  }

  std::vector<Candidate>& all_with_weight(const std::vector<float>& w) const {
    auto& found = candidate_list();
    found.clear();
    for (size_t i = 0; i < w.size(); i++)
      if (w[i] > 0.f) found.push_back({w[i], int32_t(i)});
    return found;
  }

  static void truncate(std::vector<Candidate>& found, int32_t top_k, float top_p, float min_p, double total) {
    if (top_k > 0 && found.size() > size_t(top_k)) found.resize(size_t(top_k));
    if (top_k > 0) {
      total = 0;
      for (const auto& c : found) total += double(c.weight);
    }
    size_t keep = 0;
    double sum = 0;
    while (keep < found.size() && (keep == 0 || sum < double(top_p) * total)) sum += double(found[keep++].weight);
    while (keep > 1 && found[keep - 1].weight < min_p) sum -= double(found[--keep].weight);
    found.resize(keep);
  }

  // Those whose surprise is nearest to the average, until they hold `share` of the weight; in the order of ids.
  static void keep_typical(std::vector<Candidate>& found, float share) {
    double total = 0, mean = 0;
    for (const auto& c : found) total += double(c.weight), mean -= double(c.weight) * std::log(double(c.weight));
    mean /= total;
    const auto away = [&](const Candidate& c) { return std::abs(-std::log(double(c.weight)) - mean); };
    static thread_local std::vector<std::pair<double, double>> by_distance;   // and weight
    by_distance.clear();
    for (const auto& c : found) by_distance.emplace_back(away(c), double(c.weight));
    std::sort(by_distance.begin(), by_distance.end());
    double sum = 0, furthest = by_distance.back().first;
    for (const auto& [distance, weight] : by_distance)
      if ((sum += weight) >= double(share) * total) {
        furthest = distance;
        break;
      }
    std::erase_if(found, [&](const Candidate& c) { return away(c) > furthest; });
    std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
  }

  static int32_t pick(const std::vector<Candidate>& found, double u) {
    double sum = 0, inside = 0;
    for (const auto& c : found) sum += double(c.weight);
    for (const auto& c : found) {
      inside += double(c.weight);
      if (inside > u * sum) return c.id;
    }
    return found.back().id;
  }

  void report(int32_t token) const {
    const float largest = k_.max(raw_, a_.vocab);
    const double norm = double(largest) + std::log(k_.exp_sum(raw_, a_.vocab, largest, 1.f, nullptr));
    a_.logprobs[row_] = float(double(raw_[token]) - norm);
    const int64_t wanted = std::min<int64_t>(a_.num_logprobs[row_], a_.vocab);
    if (!wanted) return;
    auto& best = candidate_list();
    best.clear();
    for (int64_t i = 0; i < a_.vocab; i++) {
      const Candidate c{raw_[i], int32_t(i)};
      if (int64_t(best.size()) == wanted && !(c < best.back())) continue;
      if (int64_t(best.size()) == wanted) best.pop_back();
      best.insert(std::upper_bound(best.begin(), best.end(), c), c);
    }
    for (size_t i = 0; i < best.size(); i++) {
      a_.top_ids[row_ * a_.width + int64_t(i)] = best[i].id;
      a_.top_logprobs[row_ * a_.width + int64_t(i)] = float(double(best[i].weight) - norm);
    }
  }

  static std::vector<float>& penalized() {
    static thread_local std::vector<float> v;
    return v;
  }
  static std::vector<float>& weights() {
    static thread_local std::vector<float> v;
    return v;
  }
  static std::vector<Candidate>& candidate_list() {
    static thread_local std::vector<Candidate> v;
    return v;
  }

  const SampleArgs& a_;
  const SamplingKernels& k_;
  int64_t row_;
  const float* raw_;
  const float* x_;
};

class Rows : public Job {
 public:
  Rows(const SampleArgs& args, const SamplingKernels& k) : args_(args), k_(k) {}
  int num_stages() const override { return 1; }
  int64_t items(int) const override { return args_.rows; }
  void run(int, int64_t begin, int64_t end, int) override {
    for (int64_t r = begin; r < end; r++) Row(args_, k_, r).run();
  }

 private:
  const SampleArgs& args_;
  const SamplingKernels& k_;
};

}  // namespace

double counter_uniform(uint64_t seed, int64_t position) {
  return double(mix(mix(seed, uint64_t(position)), 0x632BE59BD9B4E019ull) >> 11) * 0x1.0p-53;
}

void greedy_rows(const float* logits, int64_t rows, int64_t vocab, int64_t ld, const SamplingKernels& k, int32_t* tokens) {
  for (int64_t r = 0; r < rows; r++) tokens[r] = k.argmax(logits + r * ld, vocab);
}

void sample_rows(const SampleArgs& args, const SamplingKernels& k, int threads) {
  Rows rows(args, k);
  if (args.rows == 1) rows.run(0, 0, 1, 0);
  else if (args.rows) ThreadPool::shared(threads)->run(rows);
}

}  // namespace hone
