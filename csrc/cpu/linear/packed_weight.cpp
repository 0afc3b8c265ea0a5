// Packing happens once at load; plain loops that read and write sequentially are fast enough (0.1 s for SmolLM2-135M).
#include "hone/packed_weight.hpp"

#include <cstring>

#include "hone/half.hpp"

namespace hone {
namespace {

inline int lane_of(int row) { return row / 8 * 32 + row % 8 * 4; }

// 32 unsigned codes of one row and group.
void read_codes(const PackedWeight::Quantized& q, int64_t row, int64_t group, uint8_t* out) {
  const int64_t k = group * kGroup;
  if (q.bits == 8) {
    const uint8_t flip = q.mins ? 0 : 0x80;   // int8 becomes unsigned with zero 128
    for (int i = 0; i < kGroup; i++) out[i] = q.codes[row * q.cols + k + i] ^ flip;
    return;
  }
  const uint8_t* s = q.codes + (row * q.cols + k) / 2;
  for (int i = 0; i < kGroup / 2; i++) {
    out[2 * i] = s[i] & 15;
    out[2 * i + 1] = s[i] >> 4;
  }
  if (q.bits != 5) return;
  const uint8_t lift = q.mins ? 0 : 128 - 16;
  const uint8_t* h = q.high + (row * q.cols + k) / 8;
  for (int i = 0; i < kGroup; i++) out[i] = uint8_t((out[i] | ((h[i / 8] >> (i % 8) & 1) << 4)) + lift);
}

void write_codes(const uint8_t* codes, bool wide, int row, uint8_t* step) {
  uint8_t* p = step + lane_of(row);
  if (wide) {
    for (int quad = 0; quad < 8; quad++) std::memcpy(p + quad * 128, codes + quad * 4, 4);
    return;
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) p[i * 128 + j] = uint8_t(codes[8 * i + j] | codes[8 * i + 4 + j] << 4);
}

}  // namespace

PackedWeight::PackedWeight(Format format, int64_t rows, int64_t cols)
    : format_(format), rows_(rows), cols_(cols), units_((rows + kUnitRows - 1) / kUnitRows), unit_bytes_(unit_bytes(format, cols)),
      span_(huge_allocate(size_t(units_ * unit_bytes_))) {}

std::shared_ptr<PackedWeight> PackedWeight::quantized(const Quantized& q) {
  const bool wide = q.bits != 4;
  const Format format = wide ? (q.mins ? Format::q8_min : Format::q8) : (q.mins ? Format::q4_min : Format::q4);
  std::shared_ptr<PackedWeight> w(new PackedWeight(format, q.rows, q.cols));
  const int64_t step = step_bytes(format), scales_at = wide ? 1024 : 512, groups = q.cols / q.group;
  for (int64_t row = 0; row < q.rows; row++) {
    uint8_t* p = w->span_.data + row / kUnitRows * w->unit_bytes_;
    const int r = int(row % kUnitRows);
    for (int64_t g = 0; g < w->steps(); g++, p += step) {
      uint8_t codes[kGroup];
      read_codes(q, row, g, codes);
      write_codes(codes, wide, r, p);
      const int64_t at = row * groups + g * kGroup / q.group;
      std::memcpy(p + scales_at + 2 * r, q.scales + at, 2);
      if (q.mins) std::memcpy(p + scales_at + 64 + 2 * r, q.mins + at, 2);
    }
  }
  return w;
}

std::shared_ptr<PackedWeight> PackedWeight::dense(const void* data, Dtype dtype, int64_t rows, int64_t cols) {
  const Format format = dtype == Dtype::f32 ? Format::f32 : dtype == Dtype::f16 ? Format::f16 : Format::bf16;
  std::shared_ptr<PackedWeight> w(new PackedWeight(format, rows, cols));
  const int64_t width = dtype == Dtype::f32 ? 4 : 2, step = step_bytes(format);
  for (int64_t row = 0; row < rows; row++) {
    uint8_t* p = w->span_.data + row / kUnitRows * w->unit_bytes_ + row % kUnitRows * width;
    const uint8_t* s = (const uint8_t*)data + row * cols * width;
    for (int64_t k = 0; k < cols; k++) std::memcpy(p + k * step, s + k * width, size_t(width));
  }
  return w;
}

void PackedWeight::read_row(int64_t row, float* out) const {
  const int r = int(row % kUnitRows);
  const uint8_t* p = unit(row / kUnitRows);
  const int64_t step = step_bytes(format_);
  const auto half_at = [](const uint8_t* at) {
    uint16_t h;
    std::memcpy(&h, at, 2);
    return h;
  };
  if (!is_integer(format_)) {
    for (int64_t k = 0; k < cols_; k++, p += step) {
      if (format_ == Format::f32) std::memcpy(out + k, p + 4 * r, 4);
      else out[k] = format_ == Format::f16 ? half_to_float(half_at(p + 2 * r)) : bfloat_to_float(half_at(p + 2 * r));
    }
    return;
  }
  const bool wide = format_ == Format::q8 || format_ == Format::q8_min;
  const bool min = format_ == Format::q4_min || format_ == Format::q8_min;
  const int64_t scales_at = wide ? 1024 : 512;
  const int zero = min ? 0 : wide ? 128 : 8;
  for (int64_t g = 0; g < steps(); g++, p += step) {
    const float scale = half_to_float(half_at(p + scales_at + 2 * r));
    const float low = min ? half_to_float(half_at(p + scales_at + 64 + 2 * r)) : 0.f;
    for (int c = 0; c < kGroup; c++) {
      const int quad = c / 4;
      const uint8_t byte = p[(wide ? quad : quad / 2) * 128 + lane_of(r) + c % 4];
      const int code = wide ? byte : quad % 2 ? byte >> 4 : byte & 15;
      out[g * kGroup + c] = scale * float(code - zero) + low;
    }
  }
}

}  // namespace hone
