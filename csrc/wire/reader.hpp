// Protobuf on the wire, one field after the other. Whatever is not plainly right is Unsupported.
#pragma once
#include <cstring>

#include "wire/value.hpp"

namespace hone::wire {

class Reader {
 public:
  explicit Reader(Text bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  // Moves to the next field; false at the end.
  bool next() {
    if (at_ == end_) return false;
    start_ = at_;
    const uint64_t tag = small_varint();
    field_ = tag >> 3, type_ = tag & 7;
    if (!field_) throw Unsupported{};
    return true;
  }

  uint64_t field() const { return field_; }
  // The bytes of the current field from its tag on; after its value was read.
  Text whole() const { return {start_, size_t(at_ - start_)}; }

  uint64_t number() {
    want(0);
    return varint();
  }

  uint64_t fixed64() {
    want(1);
    if (end_ - at_ < 8) throw Unsupported{};
    uint64_t value;
    std::memcpy(&value, at_, 8);
    at_ += 8;
    return value;
  }

  Text bytes() {
    want(2);
    const uint64_t length = small_varint();
    if (length > uint64_t(end_ - at_)) throw Unsupported{};
    at_ += length;
    return {at_ - length, size_t(length)};
  }

  Text text() {
    const Text found = bytes();
    if (!is_utf8(found)) throw Unsupported{};
    return found;
  }

  void skip() {
    switch (type_) {
      case 0: varint(); return;
      case 1: fixed64(); return;
      case 2: bytes(); return;
      case 5:
        if (end_ - at_ < 4) throw Unsupported{};
        at_ += 4;
        return;
      default: throw Unsupported{};
    }
  }

 private:
  void want(unsigned type) const {
    if (type_ != type) throw Unsupported{};
  }

  // A tag or a length: 32 bits, and never more than five bytes, not even of leading zeros.
  uint64_t small_varint() {
    const char* const before = at_;
    const uint64_t value = varint();
    if (at_ - before > 5 || value > 0xFFFFFFFFull) throw Unsupported{};
    return value;
  }

  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      if (at_ == end_) throw Unsupported{};
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    // The tenth byte of a negative number holds its highest bit.
    if (at_ == end_ || *at_ != 1) throw Unsupported{};
    at_++;
    return value | uint64_t(1) << 63;
  }

  const char* at_;
  const char* end_;
  const char* start_ = nullptr;
  uint64_t field_ = 0;
  unsigned type_ = 0;
};

}  // namespace hone::wire
