// A tile of 16 weight rows by 128 columns, the unit in which quantized matrices are stored, streamed and multiplied.
//
// Layout. A matrix is padded to bands of 8 units of 16 rows and to tiles of 128 columns; tiles lie unit by unit, in each unit
// along the columns, each tile with its scales, so that one contiguous copy (1,056 bytes at 4 bits in groups of 128) brings all:
//   codes   4 bits: uint32 [2 halves of 64 columns][32 lanes][4]     8 bits: uint32 [4 quarters of 32 columns][32 lanes][4]
//   scales  fp16 [128 / group][16 rows]
//   mins    fp16 likewise, where the format has minimums
// Widths of 2, 3, 5 and 6 bits are planes one behind the other: of 4 bits as above (5, 6), of 2 bits uint32 [4 quarters][32 lanes] (2, 3, 6),
// of 1 bit uint32 [2 halves][32 lanes] (3, 5). In a mixed matrix each tile has its own width and group size, the same for all units.
// A lane's words are its A fragments of mma.m16n8k16: the weights are the operand of 16 rows, activations that of 8 columns.
// Columns are permuted inside each 32: lane t (0 to 3) of a quad holds columns 8t to 8t+7, which are 16 contiguous bytes of an
// activation row, so activations are used as they lie. Word j of 4 bits serves product j; its nibbles from the lowest:
// (row, c), (row+8, c), (row, c+2), (row+8, c+2), then the same for c+1.
//
// Unpacking. One LOP3 makes 1024 + v of a low nibble and 1024 + 16 v of the next (fp16); 128 + v in bf16. Codes are unsigned,
// symmetric ones hold code + zero. Two ways to take the offset off:
//   offset  in the group's sum: c - (1024 + zero) * sum(x), the sum itself being a product with ones (tensor cores idle anyway)
//   exact   before the product, one packed subtraction for two codes: cheaper when many activation rows share it
// Either way codes are multiplied exactly and the scale is applied to the group's fp32 sum.
#pragma once
#include "hone/device.cuh"
#include "kernels/linear/linear.hpp"

namespace hone::cuda {

using namespace hone::device;

// Which planes the codes of a width lie in, and where in a tile.
template <int BITS>
struct Planes {
  static constexpr bool four = BITS >= 4, two = BITS == 2 || BITS == 3 || BITS == 6, one = BITS == 3 || BITS == 5;
  static constexpr int two_at = four ? kUnitRows * kTileCols / 2 : 0, one_at = two_at + (two ? kUnitRows * kTileCols / 4 : 0);

  // Two codes, of columns c and c + 1: fragment i (row + 8 (i & 1), pair i / 2) of a quarter's product. `odd`: the quarter is odd.
  static __device__ __forceinline__ uint32_t codes(uint32_t of_four, uint32_t of_two, uint32_t of_one, int product, int odd, int i) {
    uint32_t v = 0;
    if (four) v |= of_four >> (4 * i) & 0x000f000fu;
    if (two) v |= (of_two >> (8 * product + 2 * i) & 0x00030003u) << (four ? 4 : 0);
    if (one) v |= (of_one >> (8 * odd + 4 * product + i) & 0x00010001u) << (four ? 4 : 2);
    return v;
  }
};

// 2, 3, 5 and 6 bits: put together from planes, below 1024 in fp16 or 128 in bf16 as the others. In fp16 the codes of rows 8 and more
// begin higher in the number, as those of 4 bits do: each plane's bits are moved to where the code wants them by one shift, which two
// fragments often share, and set by one LOP3.
template <class T, int BITS>
struct Codes {
  static constexpr bool is_half = __is_same(T, __half);
  using P = Planes<BITS>;
  static constexpr int high_at = is_half ? (P::four ? 4 : 2) : 0;  // the bit at which a code of rows 8 to 15 begins
  static constexpr float base = is_half ? 1024.f : 128.f, high_factor = 1.f / float(1 << high_at);

  // The bits of `mask`, which lie at bit `at` of the plane, to bit `to` of v.
  static __device__ __forceinline__ void set(uint32_t& v, uint32_t plane, int at, int to, uint32_t mask) {
    const uint32_t moved = at >= to ? plane >> (at - to) : plane << (to - at);
    v = (moved & (mask << to)) | v;
  }
  static __device__ __forceinline__ void unpack(uint32_t of_four, uint32_t of_two, uint32_t of_one, int product, int odd, uint32_t (&a)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      if constexpr (is_half) {
        const int begin = i & 1 ? high_at : 0;
        a[i] = 0x64006400u;
        if (P::four) set(a[i], of_four, 4 * i, begin, 0x000f000fu);
        if (P::two) set(a[i], of_two, 8 * product + 2 * i, begin + (P::four ? 4 : 0), 0x00030003u);
        if (P::one) set(a[i], of_one, 8 * odd + 4 * product + i, begin + (P::four ? 4 : 2), 0x00010001u);
      } else {
        a[i] = P::codes(of_four, of_two, of_one, product, odd, i) | 0x43004300u;
      }
    }
  }
  static __device__ __forceinline__ void make_exact(uint32_t (&a)[4], float zero) {
#pragma unroll
    for (int i = 0; i < 4; i++)
      if constexpr (is_half) {
        __half2& v = reinterpret_cast<__half2&>(a[i]);
        v = i & 1 ? __hfma2(v, __float2half2_rn(high_factor), __float2half2_rn(-(base * high_factor + zero))) : __hsub2(v, __float2half2_rn(base + zero));
      } else {
        __nv_bfloat162& v = reinterpret_cast<__nv_bfloat162&>(a[i]);
        v = __hsub2(v, __float2bfloat162_rn(base + zero));
      }
  }
};

template <>
struct Codes<__half, 4> {
  static constexpr float base = 1024.f, high_factor = 1.f / 16.f;
  static __device__ __forceinline__ uint32_t pick(uint32_t q, uint32_t mask) {
    uint32_t r;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(q), "r"(mask), "r"(0x64006400u));
    return r;
  }
  static __device__ __forceinline__ void unpack(const uint32_t* q, uint32_t (&a)[4]) {
    const uint32_t next = q[0] >> 8;
    a[0] = pick(q[0], 0x000f000fu), a[1] = pick(q[0], 0x00f000f0u), a[2] = pick(next, 0x000f000fu), a[3] = pick(next, 0x00f000f0u);
  }
  static __device__ __forceinline__ void make_exact(uint32_t (&a)[4], float zero) {
    const __half2 low = __float2half2_rn(base + zero), high = __float2half2_rn(-(64.f + zero)), scale = __float2half2_rn(high_factor);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      __half2& v = reinterpret_cast<__half2&>(a[i]);
      v = i & 1 ? __hfma2(v, scale, high) : __hsub2(v, low);
    }
  }
};

template <>
struct Codes<__nv_bfloat16, 4> {
  static constexpr float base = 128.f, high_factor = 1.f;
  static __device__ __forceinline__ void unpack(const uint32_t* q, uint32_t (&a)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(a[i]) : "r"(q[0] >> (4 * i)), "r"(0x000f000fu), "r"(0x43004300u));
  }
  static __device__ __forceinline__ void make_exact(uint32_t (&a)[4], float zero) {
    const __nv_bfloat162 low = __float2bfloat162_rn(base + zero);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      __nv_bfloat162& v = reinterpret_cast<__nv_bfloat162&>(a[i]);
      v = __hsub2(v, low);
    }
  }
};

template <>
struct Codes<__half, 8> {
  static constexpr float base = 1024.f, high_factor = 1.f;
  static __device__ __forceinline__ void unpack(const uint32_t* q, uint32_t (&a)[4]) {
    a[0] = __byte_perm(q[0], 0x64646464u, 0x4140), a[1] = __byte_perm(q[0], 0x64646464u, 0x4342);
    a[2] = __byte_perm(q[1], 0x64646464u, 0x4140), a[3] = __byte_perm(q[1], 0x64646464u, 0x4342);
  }
  static __device__ __forceinline__ void make_exact(uint32_t (&a)[4], float zero) {
    const __half2 low = __float2half2_rn(base + zero);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      __half2& v = reinterpret_cast<__half2&>(a[i]);
      v = __hsub2(v, low);
    }
  }
};

// bf16 has too few bits for an offset beside 8-bit codes: they go through fp32 (2^23 + v), exactly.
template <>
struct Codes<__nv_bfloat16, 8> {
  static constexpr float base = 0.f, high_factor = 1.f;
  static __device__ __forceinline__ float number(uint32_t q, int byte) {
    return __uint_as_float(__byte_perm(q, 0x4b000000u, 0x7550 + byte)) - 8388608.f;
  }
  static __device__ __forceinline__ void unpack(const uint32_t* q, uint32_t (&a)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const int byte = (i & 1) * 2;
      reinterpret_cast<__nv_bfloat162&>(a[i]) = __floats2bfloat162_rn(number(q[i >> 1], byte), number(q[i >> 1], byte + 1));
    }
  }
  static __device__ __forceinline__ void make_exact(uint32_t (&a)[4], float zero) {
    const __nv_bfloat162 low = __float2bfloat162_rn(zero);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      __nv_bfloat162& v = reinterpret_cast<__nv_bfloat162&>(a[i]);
      v = __hsub2(v, low);
    }
  }
};

// acc[u][b] += tile u (16 rows) times columns 8b to 8b+7 of the activations, over the tile's 128 columns.
// x: this lane's place in shared memory, row lane / 4, quad lane * 16 bytes; rows of 8 more lie `step` bytes on.
// GROUP 0: `group` says it at run time. MIN 0, 1 or 2: symmetric, with minimums, or as has_min says.
template <class T, int BITS, int GROUP, int MIN, int UNITS, int COLS, bool OFFSET>
struct TileProduct {
  using C = Codes<T, BITS>;
  int shift_, lane;
  bool has_min_;
  float zero;

  __device__ TileProduct(int group, bool has_min, int lane_)
      : shift_(group == 128 ? 7 : group == 64 ? 6 : 5), lane(lane_), has_min_(has_min), zero(MIN == 1 || (MIN == 2 && has_min) ? 0.f : float(1 << (BITS - 1))) {}

  __device__ __forceinline__ int shift() const { return GROUP == 128 ? 7 : GROUP == 64 ? 6 : GROUP == 32 ? 5 : shift_; }
  __device__ __forceinline__ bool ends_group(int quarter) const { return ((quarter + 1) * 32 & ((1 << shift()) - 1)) == 0; }
  __device__ __forceinline__ bool has_min() const { return MIN == 2 ? has_min_ : MIN == 1; }

  __device__ __forceinline__ void apply(const uint8_t* tile, int at, float (&acc)[COLS][4], float (&c)[COLS][4], const float (&sum)[COLS][4]) {
    const __half* scales = reinterpret_cast<const __half*>(tile + kUnitRows * kTileCols * BITS / 8);
    const int index = at * kUnitRows + (lane >> 2);
    const float low = __half2float(scales[index]), high = __half2float(scales[index + 8]);
    const float from_low = C::base + zero, from_high = C::base + zero / C::high_factor;
#pragma unroll
    for (int b = 0; b < COLS; b++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const float scale = i < 2 ? low : OFFSET ? high * C::high_factor : high;
        const float value = OFFSET ? fmaf(-(i < 2 ? from_low : from_high), sum[b][i & 1], c[b][i]) : c[b][i];
        acc[b][i] = fmaf(scale, value, acc[b][i]);
        c[b][i] = 0.f;
      }
    if (!has_min()) return;
    const __half* mins = scales + (kTileCols >> shift()) * kUnitRows;
    const float min_low = __half2float(mins[index]), min_high = __half2float(mins[index + 8]);
#pragma unroll
    for (int b = 0; b < COLS; b++)
#pragma unroll
      for (int i = 0; i < 4; i++) acc[b][i] = fmaf(i < 2 ? min_low : min_high, sum[b][i & 1], acc[b][i]);
  }

  __device__ __forceinline__ void run(const uint8_t* tiles, int tile_size, const uint8_t* x, int step, float (&acc)[UNITS][COLS][4]) {
    constexpr uint32_t two = __is_same(T, __half) ? 0x3c003c00u : 0x3f803f80u;
    const uint32_t ones[4] = {two, two, two, two};
    // Two chains of products where registers allow it: one would leave the tensor cores waiting for themselves.
    constexpr int chains = OFFSET ? 2 : 1;
    float c[chains][UNITS][COLS][4] = {}, sum[chains][COLS][4] = {};
    constexpr bool planes = BITS != 4 && BITS != 8;
    uint32_t q[UNITS][4] = {}, of_two[UNITS] = {}, of_one[UNITS] = {};
#pragma unroll(COLS == 8 ? 2 : 4)  // registers: 8 columns leave none to look ahead
    for (int quarter = 0; quarter < 4; quarter++) {
      if (BITS == 8 || (BITS >= 4 && quarter % 2 == 0))
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
          const uint4 v = reinterpret_cast<const uint4*>(tiles + u * tile_size)[(BITS == 8 ? quarter : quarter / 2) * 32 + lane];
          q[u][0] = v.x, q[u][1] = v.y, q[u][2] = v.z, q[u][3] = v.w;
        }
#pragma unroll
      for (int u = 0; u < UNITS; u++) {
        const uint8_t* own = tiles + u * tile_size + lane * 4;
        if (planes && Planes<BITS>::two) of_two[u] = *reinterpret_cast<const uint32_t*>(own + Planes<BITS>::two_at + quarter * 128);
        if (planes && Planes<BITS>::one && quarter % 2 == 0) of_one[u] = *reinterpret_cast<const uint32_t*>(own + Planes<BITS>::one_at + quarter * 64);
      }
      uint32_t a[2][UNITS][4];  // the two products of a quarter
#pragma unroll
      for (int j = 0; j < 2; j++)
#pragma unroll
        for (int u = 0; u < UNITS; u++) {
          if constexpr (planes)
            C::unpack(q[u][quarter % 2 * 2 + j], of_two[u], of_one[u], j, quarter % 2, a[j][u]);
          else
            C::unpack(q[u] + (BITS == 8 ? 2 * j : quarter % 2 * 2 + j), a[j][u]);
          if (!OFFSET) C::make_exact(a[j][u], zero);
        }
      constexpr int some = COLS < 4 ? COLS : 4;  // columns in turn, so that no product waits for the one before
#pragma unroll
      for (int first = 0; first < COLS; first += some) {
        uint4 xs[some];
#pragma unroll
        for (int b = 0; b < some; b++) xs[b] = *reinterpret_cast<const uint4*>(x + (first + b) * step + quarter * 64);
#pragma unroll
        for (int j = 0; j < 2; j++) {
          const int chain = chains == 2 ? j : 0;
#pragma unroll
          for (int u = 0; u <= UNITS; u++)
#pragma unroll
            for (int b = 0; b < some; b++) {
              const uint32_t b0 = j ? xs[b].z : xs[b].x, b1 = j ? xs[b].w : xs[b].y;
              if (u < UNITS)
                mma<T>(c[chain][u][first + b], a[j][u], b0, b1);
              else if (OFFSET || has_min())
                mma<T>(sum[chain][first + b], ones, b0, b1);
            }
        }
      }
      if (ends_group(quarter)) {
        if (chains == 2) join(c, sum);
#pragma unroll
        for (int u = 0; u < UNITS; u++) apply(tiles + u * tile_size, (quarter * 32) >> shift(), acc[u], c[0][u], sum[0]);
        if (OFFSET || has_min())
#pragma unroll
          for (int b = 0; b < COLS; b++) sum[0][b][0] = sum[0][b][1] = sum[0][b][2] = sum[0][b][3] = 0.f;
      }
    }
  }

  template <int CHAINS>
  __device__ __forceinline__ void join(float (&c)[CHAINS][UNITS][COLS][4], float (&sum)[CHAINS][COLS][4]) {
#pragma unroll
    for (int b = 0; b < COLS; b++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int u = 0; u < UNITS; u++) c[0][u][b][i] += c[CHAINS - 1][u][b][i], c[CHAINS - 1][u][b][i] = 0.f;
        sum[0][b][i] += sum[CHAINS - 1][b][i], sum[CHAINS - 1][b][i] = 0.f;
      }
  }
};

// Tiles of a mixed matrix that lie one behind the other and have one width: the product of that. The same for all lanes of a warp.
// FORM kPair: they have 4 or 8 bits and groups of 128.
template <class T, int FORM, int MIN, int UNITS, int COLS, bool OFFSET>
struct AnyProduct {
  bool has_min;
  int lane;

  template <int BITS, int GROUP>
  __device__ __forceinline__ void in(const Run& r, int count, const uint8_t* tiles, const uint8_t* x, int step, float (&acc)[UNITS][COLS][4]) const {
    TileProduct<T, BITS, GROUP, MIN, UNITS, COLS, OFFSET> product(r.group, has_min, lane);
    for (int i = 0; i < count; i++, tiles += r.tile_bytes, x += kTileCols * 2) product.run(tiles, r.tile_bytes, x, step, acc);
  }
  // Groups of 128 are what mixtures mostly have: one sum a tile, known when compiling, saves a third of the instructions.
  template <int BITS>
  __device__ __forceinline__ void of(const Run& r, int count, const uint8_t* tiles, const uint8_t* x, int step, float (&acc)[UNITS][COLS][4]) const {
    OFFSET && r.group == kTileCols ? in<BITS, OFFSET ? kTileCols : 0>(r, count, tiles, x, step, acc) : in<BITS, 0>(r, count, tiles, x, step, acc);
  }
  __device__ __forceinline__ void run(const Run& r, int count, const uint8_t* tiles, const uint8_t* x, int step, float (&acc)[UNITS][COLS][4]) const {
    if constexpr (FORM == kPair) return r.bits == 4 ? in<4, kTileCols>(r, count, tiles, x, step, acc) : in<8, kTileCols>(r, count, tiles, x, step, acc);
    switch (r.bits) {
      case 2: return of<2>(r, count, tiles, x, step, acc);
      case 3: return of<3>(r, count, tiles, x, step, acc);
      case 4: return of<4>(r, count, tiles, x, step, acc);
      case 5: return of<5>(r, count, tiles, x, step, acc);
      case 6: return of<6>(r, count, tiles, x, step, acc);
      default: return of<8>(r, count, tiles, x, step, acc);
    }
  }
};

__device__ __forceinline__ int index_of(const Runs& runs, int tile) {
  int i = 0;
  while (i + 1 < runs.count && runs.run[i + 1].first_tile <= tile) i++;
  return i;
}

__device__ __forceinline__ const Run& run_of(const Runs& runs, int tile) { return runs.run[index_of(runs, tile)]; }

// Where a unit's tile begins; also the one behind the last.
__device__ __forceinline__ int offset_of(const Runs& runs, int tile) {
  const Run& r = run_of(runs, tile);
  return r.first_byte + (tile - r.first_tile) * r.tile_bytes;
}

// The tiles from `first` to `end` of every unit of a mixed matrix, round and round, beginning at `start`: looking each one up in the
// table costs as much as multiplying it.
struct Walk {
  const Runs& runs;
  int first, end, first_run;
  int tile = 0, index = 0, border = 0;  // border: where the run that `run` copies ends
  Run run{};

  __device__ __forceinline__ Walk(const Runs& runs_, int first_, int end_, int start) : runs(runs_), first(first_), end(end_), first_run(index_of(runs_, first_)) {
    tile = start, load(index_of(runs, start));
  }
  // How many tiles of one width, at most `most`, come next.
  __device__ __forceinline__ int count(int most) const { return min(most, border - tile); }
  __device__ __forceinline__ void pass(int n) {
    tile += n;
    if (tile < border) return;
    if (tile < end)
      load(index + 1);
    else if (tile = first; index != first_run)
      load(first_run);
  }

 private:
  __device__ __forceinline__ void load(int i) {
    index = i, run = runs.run[i];
    border = i + 1 < runs.count ? min(runs.run[i + 1].first_tile, end) : end;
  }
};

// A warp's own ring of stages in shared memory; nobody else reads or writes it, so it needs no barrier of the block.
struct WarpRing {
  uint8_t* data;
  uint64_t* barriers;
  int stages, stage_bytes, lane;
  int head = 0, tail = 0;
  uint32_t phase = 0;

  __device__ WarpRing(uint8_t* data_, uint64_t* barriers_, int stages_, int stage_bytes_, int lane_)
      : data(data_), barriers(barriers_), stages(stages_), stage_bytes(stage_bytes_), lane(lane_) {
#if HONE_BULK_COPY
    if (lane == 0) {
      for (int i = 0; i < stages; i++) barrier_init(barriers + i);
      barrier_init_done();
    }
    __syncwarp();
#endif
  }

  // Start one stage: `count` pieces of num_bytes, `apart` bytes from one another. All lanes call it.
  __device__ __forceinline__ void fetch(const uint8_t* from, int count, int num_bytes, int64_t apart) {
    uint8_t* to = data + head * stage_bytes;
#if HONE_BULK_COPY
    if (lane == 0) {
      barrier_expect(barriers + head, uint32_t(count * num_bytes));
      for (int i = 0; i < count; i++) copy_bulk(to + i * num_bytes, from + i * apart, uint32_t(num_bytes), barriers + head);
    }
#else
    for (int i = 0; i < count; i++)
      for (int at = lane * 16; at < num_bytes; at += 512) copy_16(to + i * num_bytes + at, from + i * apart + at);
#endif
    if (++head == stages) head = 0;
  }

  // The oldest stage, once it is there.
  __device__ __forceinline__ const uint8_t* wait() {
#if HONE_BULK_COPY
    barrier_wait(barriers + tail, phase);
#endif
    return data + tail * stage_bytes;
  }

  // All lanes have read the oldest stage.
  __device__ __forceinline__ void release() {
    __syncwarp();
    if (++tail == stages) tail = 0, phase ^= 1;
  }
};

}  // namespace hone::cuda
