// One token of one row by a team, without sorting the vocabulary and without sums whose order could vary.
//
// Weights. exp((x - max) / temperature) as a whole number of 2^-32: sums of whole numbers are the same in any order, so that
// histograms may be filled with atomic additions and the result still is the same bits every time.
// Order. All truncations keep a beginning of the tokens sorted by (logit, id): top-k by number, top-p by weight, min-p by logit. So
// each of them only says how much weight is kept, and the draw finds the token at which the running weight passes its share of
// that. All are one question, "where does the running sum reach this?", answered by `Ranks::locate`: 2048 bins of equal width
// over the range of logits that matter, then each of the few tokens of one bin counts who is ahead of it. A bin with too many tokens
// (near-equal logits) is divided again; equal ones are told apart by id.
// Team. A cluster of up to 8 blocks shares a row: each reads its part once and keeps it, fills histograms of its own, and looks at those of
// the others; lists and results lie in the first block's memory. On an H200 one block took 183 us for 128,256 logits,
// 8 take 76.
// Nothing truncates: tokens are walked in the order of ids, as the CPU does.
// Typical-p keeps no beginning but a band: the tokens whose surprise is nearest to the average. How far it reaches is found by halving the
// bits of that distance, 31 sums of the weight inside; what is left is walked in the order of ids.
#pragma once
#include "kernels/sampling/row.cuh"

namespace hone::cuda {

constexpr int kBins = 2048, kList = 2048, kFew = 1024;

struct Histogram {
  uint32_t low[kBins], high[kBins], count[kBins];  // weight = high * 2^32 + low
};

struct DrawMemory {
  Histogram all, part;
  uint64_t list[kList];
  uint32_t weights[kFew];
  Meeting meeting;
  uint64_t found[2][2];
  uint32_t length;
};
static_assert(kMaxVocab <= kList * kPiece);

__device__ inline uint64_t mix_seed(uint64_t state, uint64_t add) {
  state += 0x9E3779B97F4A7C15ull * (add | 1) + add;
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EBull;
  return state ^ (state >> 31);
}

// In [0, 1), the same as on the CPU.
__device__ inline double uniform_of(const SampleRow& s) {
  const uint64_t seed = uint64_t(s.seed_high) << 32 | s.seed_low;
  return double(mix_seed(mix_seed(seed, uint64_t(int64_t(s.position))), 0x632BE59BD9B4E019ull) >> 11) * 0x1.0p-53;
}

__device__ __forceinline__ uint32_t whole(float weight) {
#if defined(__CUDA_ARCH__)
  return __float2uint_rn(weight * 4294967296.f);
#else
  const float scaled = weight * 4294967296.f;
  return scaled >= 4294967296.f ? ~0u : uint32_t(__builtin_rint(double(scaled)));
#endif
}

enum class Measure { weight, count };

// Logits of a row that one of several blocks has, but for the latest: whole pieces.
__host__ __device__ inline int part_of(int vocab, int blocks) { return ((vocab + blocks - 1) / blocks + kPiece - 1) / kPiece * kPiece; }

template <class T, class Team>
class Ranks {
 public:
  __device__ Ranks(const Logits<T>& row, const Team& team, DrawMemory& memory, float largest, float least, float temperature)
      : row_(row), team_(team), m_(memory), first_(*team.first(&memory)), largest_(largest), scale_(1.4426950408889634f / temperature) {
    const float reach = largest - 22.9f * temperature;  // below it weights are 0
    low_ = least > reach ? least : reach;
  }

  __device__ __forceinline__ float weight(float x) const { return exp2f((x - largest_) * scale_); }

  // Total weight; fills the histogram that `locate` begins with, and says how many tokens have any weight.
  __device__ uint64_t fill(uint64_t& number) {
    histogram(m_.all, low_, largest_);
    uint64_t mass = 0, count = 0;
    for (int b = thread(); b < kBins; b += threads()) mass += own_mass(m_.all, b), count += m_.all.count[b];
    uint64_t total;
    team_.sum_before(mass, total);
    team_.sum_before(count, number);
    return total;
  }

  // The weight of all tokens up to and with the first, likeliest first, at which the running sum reaches `target`; and that token.
  __device__ __noinline__ uint64_t locate(Measure measure, uint64_t target, int& id) {
    float low = low_, high = largest_;
    uint64_t mass = 0, count = 0;  // ahead of the bin looked at
    for (Histogram* h = &m_.all;; h = &m_.part) {
      const int bin = crossing(*h, measure, target, mass, count);
      if (team_.total(&h->count[bin]) <= kFew) return among_few(low, high, bin, measure, target, mass, count, id);
      narrow(low, high, bin);
      if (low == high) return among_equal(low, measure, target, mass, count, id);
      histogram(m_.part, low, high);
    }
  }

  // The first id at which the running sum, in the order of ids, reaches `target`.
  template <class F>
  __device__ __noinline__ int walk(F weight_of, uint64_t target) {
    const int warps = threads() / 32, warp = thread() / 32, part = row_part();
    team_.sync();
    for (int base = 0; base < part; base += warps * kPiece) {
      const int first = row_.begin + base + thread() * kVector;
      uint64_t sum = 0;
      if (first < row_.end) {
        float v[kVector];
        row_.read(first, v);
#pragma unroll
        for (int i = 0; i < kVector; i++)
          if (first + i < row_.end) sum += weight_of(first + i, v[i]);
      }
      sum = team_.warp_sum(sum);
      const int piece = row_.begin + base + warp * kPiece;
      if (thread() % 32 == 0 && piece < row_.end) first_.list[piece / kPiece] = sum;
    }
    team_.sync();
    const int pieces = (row_.vocab + kPiece - 1) / kPiece;
    uint64_t before = 0;
    const int at = first_reaching(pieces, target, before, [&](int i) { return first_.list[i]; });
    const int begin = at * kPiece, n = row_.vocab - begin < kPiece ? row_.vocab - begin : kPiece;
    return begin + first_reaching(n, target, before, [&](int i) { return uint64_t(weight_of(begin + i, row_.at(begin + i))); });
  }

 private:
  // This block's threads, and the longest part of a row that a block has.
  __device__ __forceinline__ int threads() const { return team_.size() / team_.blocks(); }
  __device__ __forceinline__ int thread() const { return team_.rank() - team_.block() * threads(); }
  __device__ __forceinline__ int row_part() const { return part_of(row_.vocab, team_.blocks()); }

  __device__ static uint64_t own_mass(const Histogram& h, int bin) { return (uint64_t(h.high[bin]) << 32) + h.low[bin]; }
  __device__ uint64_t mass_of(const Histogram& h, int bin) const { return (team_.total(&h.high[bin]) << 32) + team_.total(&h.low[bin]); }
  __device__ __forceinline__ static int bin_of(float x, float high, float per_width) {
    const float bin = (high - x) * per_width;
    return bin < float(kBins - 1) ? int(bin) : kBins - 1;
  }
  __device__ __forceinline__ static float per_width(float low, float high) { return high > low ? float(kBins) / (high - low) : 0.f; }

  __device__ void histogram(Histogram& h, float low, float high) {
    team_.sync();
    for (int b = thread(); b < kBins; b += threads()) h.low[b] = h.high[b] = h.count[b] = 0;
    team_.sync();
    const float per = per_width(low, high);
    row_.each(team_, [&](int, float x) {
      const uint32_t w = whole(weight(x));
      if (!w || !inside(x, low, high)) return;
      const int bin = bin_of(x, high, per);
      const uint32_t before = team_.add(&h.low[bin], w);
      if (before + w < before) team_.add(&h.high[bin], 1);
      team_.add(&h.count[bin], 1);
    });
    team_.sync();
  }

  // The first interval reaches below low_: what has weight there belongs to the latest bin.
  __device__ __forceinline__ bool inside(float x, float low, float high) const { return x <= high && (x >= low || low == low_); }

  // Index of the first of n numbers at which their running sum, begun at `before`, reaches target; `before` becomes the sum ahead of it.
  template <class F>
  __device__ int first_reaching(int n, uint64_t target, uint64_t& before, F value) {
    const int each = (n + team_.size() - 1) / team_.size(), first = team_.rank() * each;
    uint64_t (&found)[2] = first_.found[turn_ ^= 1];  // in turn, as in Meeting
    if (team_.rank() == 0) found[0] = uint64_t(n > 0 ? n - 1 : 0), found[1] = before;
    uint64_t own = 0, total;
    for (int i = first; i < first + each && i < n; i++) own += value(i);
    uint64_t sum = before + team_.sum_before(own, total);
    if (own && sum < target && sum + own >= target)
      for (int i = first; i < first + each && i < n; i++) {
        const uint64_t v = value(i);
        if (sum + v >= target) {
          found[0] = uint64_t(i), found[1] = sum;
          break;
        }
        sum += v;
      }
    team_.sync();
    before = found[1];
    return int(found[0]);
  }

  // The bin in which the running sum reaches target; mass and count become those ahead of it (count only where it is the measure).
  __device__ int crossing(const Histogram& h, Measure measure, uint64_t target, uint64_t& mass, uint64_t& count) {
    if (measure == Measure::weight) return first_reaching(kBins, target, mass, [&](int b) { return mass_of(h, b); });
    const int bin = first_reaching(kBins, target, count, [&](int b) { return team_.total(&h.count[b]); });
    uint64_t own = 0, ahead;
    for (int b = thread(); b < bin; b += threads()) own += own_mass(h, b);
    team_.sum_before(own, ahead);
    mass += ahead;
    return bin;
  }

  __device__ uint64_t among_few(float low, float high, int bin, Measure measure, uint64_t target, uint64_t mass, uint64_t count, int& id) {
    if (team_.rank() == 0) first_.length = 0;
    team_.sync();
    const float per = per_width(low, high);
    row_.each(team_, [&](int i, float x) {
      const uint32_t w = whole(weight(x));
      if (!w || !inside(x, low, high) || bin_of(x, high, per) != bin) return;
      const uint32_t at = team_.add(&first_.length, 1);
      first_.list[at] = uint64_t(~order_of(x)) << 32 | uint32_t(i);
      first_.weights[at] = w;
    });
    uint64_t (&found)[2] = first_.found[turn_ ^= 1];
    team_.sync();
    const uint64_t nth = target - count;
    const int n = int(first_.length);
    if (team_.block() == 0)
      for (int i = thread(); i < n; i += threads()) {
        const uint64_t own = m_.list[i];
        uint64_t sum = mass, place = 0;  // up to and with this one
        for (int j = 0; j < n; j++)
          if (m_.list[j] <= own) sum += m_.weights[j], place++;
        const bool reaches = measure == Measure::count ? place == nth : sum >= target && sum - m_.weights[i] < target;
        if (reaches) found[0] = uint32_t(own), found[1] = sum;
      }
    team_.sync();
    id = int(found[0]);
    return found[1];
  }

  // The least and largest logit of a bin become the interval: at least two bins of the next histogram hold something.
  __device__ void narrow(float& low, float& high, int bin) {
    const float per = per_width(low, high);
    uint32_t top = 0, bottom = 0;
    row_.each(team_, [&](int, float x) {
      if (!whole(weight(x)) || !inside(x, low, high) || bin_of(x, high, per) != bin) return;
      const uint32_t order = order_of(x);
      top = order > top ? order : top;
      bottom = ~order > bottom ? ~order : bottom;
    });
    const float new_high = from_order(uint32_t(team_.maximum(top))), new_low = from_order(~uint32_t(team_.maximum(bottom)));
    high = new_high, low = new_low;
  }

  __device__ uint64_t among_equal(float x, Measure measure, uint64_t target, uint64_t mass, uint64_t count, int& id) {
    const uint64_t w = whole(weight(x));
    const uint64_t nth = measure == Measure::weight ? (target - mass + w - 1) / w : target - count;
    id = walk([&](int, float v) { return uint64_t(v == x); }, nth);
    return mass + nth * w;
  }

  const Logits<T>& row_;
  const Team& team_;
  DrawMemory& m_;      // this block's
  DrawMemory& first_;  // the first block's
  float largest_, scale_, low_;
  int turn_ = 0;
};

// Surprise in 2^-26 nats, sums of weight times surprise in 2^-45: they fit 64 bits for kMaxVocab tokens (weight 2^32 e^-s times s is at
// most 0.37 * 2^32). With coarser units the average of nearly equal logits fell beside the band.
constexpr float kSurpriseUnits = 67108864.f;
constexpr int kSurpriseShift = 13;
constexpr uint32_t kFurthest = 0x42000000u;  // 32.f: beyond any surprise of a token that has weight

// Typical-p of the tokens up to and with `last` (-1: all) that have min_p.
template <class T, class Team>
__device__ int draw_typical(const Logits<T>& row, const SampleRow& s, const Team& team, Ranks<T, Team>& ranks, float largest, int last, double u) {
  const float border = last < 0 ? 0.f : row.at(last), per = 1.f / s.temperature;
  const auto weight = [&](int id, float x) -> uint64_t {
    const bool in = last < 0 || x > border || (x == border && id <= last);
    const float w = in ? ranks.weight(x) : 0.f;
    return w >= s.min_p ? whole(w) : 0;
  };
  // Beside that of the likeliest. Rounded by itself: contracted with what follows in one place and not in another, tokens at the edge of
  // the band would be inside when it is measured and outside when it is walked.
  const auto surprise = [&](float x) { return __fmul_rn(largest - x, per); };
  uint64_t own = 0, own_sum = 0, mass, sum;
  row.each(team, [&](int id, float x) {
    const uint64_t w = weight(id, x);
    if (w) own += w, own_sum += (w * uint64_t(surprise(x) * kSurpriseUnits + 0.5f)) >> kSurpriseShift;
  });
  team.sum_before(own, mass);
  team.sum_before(own_sum, sum);
  const float mean = float(double(sum) / double(mass) / double(kSurpriseUnits / float(1 << kSurpriseShift)));
  const auto inside = [&](int id, float x, uint32_t reach) -> uint64_t {
    const uint64_t w = weight(id, x);
    const float away = __fsub_rn(surprise(x), mean);
    return w && bits_of(away < 0.f ? -away : away) <= reach ? w : 0;
  };
  const auto kept_within = [&](uint32_t reach) {
    uint64_t part = 0, total;
    row.each(team, [&](int id, float x) { part += inside(id, x, reach); });
    team.sum_before(part, total);
    return total;
  };
  const double wanted = double(s.typical) * double(mass);
  uint32_t low = 0, high = kFurthest;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (double(kept_within(middle)) >= wanted)
      high = middle;
    else
      low = middle + 1;
  }
  const uint64_t kept = kept_within(high), target = uint64_t(u * double(kept)) + 1;
  return ranks.walk([&](int id, float x) { return inside(id, x, high); }, target < kept ? target : kept);
}

// The token of a row; each block of the team has its part.
template <class T, class Team>
__device__ int draw(const Logits<T>& row, const SampleRow& s, const Team& team, DrawMemory& memory) {
  uint64_t best = 0;
  uint32_t least = 0;
  row.each_first(team, [&](int id, float x) {
    const uint32_t order = order_of(x);
    const uint64_t key = x == x ? uint64_t(order) << 32 | uint32_t(~id) : 0;
    best = key > best ? key : best;
    least = x - x == 0.f && ~order > least ? ~order : least;
  });
  best = team.maximum(best);
  const int likeliest = best ? int(~uint32_t(best)) : 0;
  if (s.temperature <= 0.f || !best) return likeliest;
  const float largest = from_order(uint32_t(best >> 32)), smallest = from_order(~uint32_t(team.maximum(least)));
  if (!(largest - largest == 0.f)) return likeliest;  // infinite: nothing to weigh

  Ranks<T, Team> ranks(row, team, memory, largest, smallest, s.temperature);
  const double u = uniform_of(s);
  uint64_t number, kept = ranks.fill(number);
  const auto share = [](double part, uint64_t of, bool up) {
    const double exact = part * double(of);
    uint64_t n = uint64_t(exact);
    if (up && double(n) < exact) n++;
    return n < 1 ? 1 : n > of ? of : n;
  };
  const bool truncated = s.typical < 1.f || (s.top_k > 0 && s.top_k < row.vocab) || s.top_p < 1.f || s.min_p > 0.f;
  if (!truncated) {
    const uint64_t target = uint64_t(u * double(kept)) + 1;
    return ranks.walk([&](int, float x) { return uint64_t(whole(ranks.weight(x))); }, target < kept ? target : kept);
  }
  int id = -1;
  if (s.top_k > 0 && uint64_t(s.top_k) < number) kept = ranks.locate(Measure::count, uint64_t(s.top_k), id);
  if (s.top_p < 1.f) kept = ranks.locate(Measure::weight, share(double(s.top_p), kept, true), id);
  if (s.min_p > 0.f) {
    uint64_t mass = 0, total;
    row.each(team, [&](int, float x) {
      const float w = ranks.weight(x);
      if (w >= s.min_p) mass += whole(w);
    });
    team.sum_before(mass, total);
    if (total && total < kept) kept = total;
  }
  if (s.typical < 1.f) return draw_typical(row, s, team, ranks, largest, id, u);
  const uint64_t target = uint64_t(u * double(kept)) + 1;
  ranks.locate(Measure::weight, target < kept ? target : kept, id);
  return id;
}

}  // namespace hone::cuda
