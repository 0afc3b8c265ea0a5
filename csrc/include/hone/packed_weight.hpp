// Weights in the layout of the products: units of 32 rows, each one sequential stream (see cpu/linear/linear_avx512.cpp).
#pragma once
#include <cstdint>
#include <memory>

#include "hone/kernels.hpp"
#include "hone/system.hpp"

namespace hone {

enum class Dtype { f16, bf16, f32 };

class PackedWeight {
 public:
  // codes, high, scales, mins: the on-disk layout, contiguous; see pack_quantized in hone_engine.kernels.
  struct Quantized {
    int64_t rows, cols;
    int bits, group;
    const uint8_t* codes;
    const uint8_t* high;
    const uint16_t* scales;
    const uint16_t* mins;
  };
  static std::shared_ptr<PackedWeight> quantized(const Quantized& q);
  static std::shared_ptr<PackedWeight> dense(const void* data, Dtype dtype, int64_t rows, int64_t cols);

  void read_row(int64_t row, float* out) const;   // fp32 (cols,)

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  int64_t units() const { return units_; }
  int64_t steps() const { return is_integer(format_) ? cols_ / kGroup : cols_; }
  Format format() const { return format_; }
  int64_t unit_size() const { return unit_bytes_; }
  int64_t nbytes() const { return int64_t(span_.size); }
  const uint8_t* unit(int64_t index) const { return span_.data + index * unit_bytes_; }

 private:
  PackedWeight(Format format, int64_t rows, int64_t cols);

  Format format_;
  int64_t rows_, cols_, units_, unit_bytes_;
  HugeSpan span_;
};

}  // namespace hone
