// Sizes and device addresses as types of their own, so that a count cannot be added to an address by mistake and a
// size never meets an address in a comparison. Both compile to one 64-bit integer.
#ifndef GMLAKE_BASE_BYTES_H_
#define GMLAKE_BASE_BYTES_H_

#include <cstdint>
#include <string>

namespace gmlake {

// A number of bytes. Signed, because differences of sizes are sizes too.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(int64_t count) : count_(count) {}

  constexpr int64_t count() const { return count_; }

  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }

  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.count_ + b.count_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.count_ - b.count_); }
  friend constexpr Bytes operator*(Bytes a, int64_t n) { return Bytes(a.count_ * n); }
  friend constexpr Bytes operator*(int64_t n, Bytes a) { return a * n; }
  friend constexpr Bytes operator/(Bytes a, int64_t n) { return Bytes(a.count_ / n); }
  friend constexpr int64_t operator/(Bytes a, Bytes b) { return a.count_ / b.count_; }
  friend constexpr Bytes operator%(Bytes a, Bytes b) { return Bytes(a.count_ % b.count_); }

  friend constexpr bool operator==(Bytes a, Bytes b) { return a.count_ == b.count_; }
  friend constexpr bool operator!=(Bytes a, Bytes b) { return a.count_ != b.count_; }
  friend constexpr bool operator<(Bytes a, Bytes b) { return a.count_ < b.count_; }
  friend constexpr bool operator<=(Bytes a, Bytes b) { return a.count_ <= b.count_; }
  friend constexpr bool operator>(Bytes a, Bytes b) { return a.count_ > b.count_; }
  friend constexpr bool operator>=(Bytes a, Bytes b) { return a.count_ >= b.count_; }

 private:
  int64_t count_ = 0;
};

constexpr Bytes KiB(int64_t n) { return Bytes(n * (int64_t{1} << 10)); }
constexpr Bytes MiB(int64_t n) { return Bytes(n * (int64_t{1} << 20)); }
constexpr Bytes GiB(int64_t n) { return Bytes(n * (int64_t{1} << 30)); }

// `size` rounded up to a multiple of `unit`; both positive, any `unit`.
constexpr Bytes AlignUp(Bytes size, Bytes unit) {
  return Bytes((size.count() + unit.count() - 1) / unit.count() * unit.count());
}

constexpr Bytes AlignDown(Bytes size, Bytes unit) { return size - size % unit; }

// The largest power of two not above `size`; `size` must be positive.
constexpr Bytes PowerOfTwoFloor(Bytes size) {
  return Bytes(int64_t{1} << (63 - __builtin_clzll(static_cast<uint64_t>(size.count()))));
}

// Humane units: "512 B", "1.5 MiB", "36.9 GiB".
std::string ToString(Bytes size);

// A device virtual address. Zero is the null address.
class Address {
 public:
  constexpr Address() = default;
  constexpr explicit Address(uint64_t value) : value_(value) {}

  constexpr uint64_t value() const { return value_; }
  constexpr bool is_null() const { return value_ == 0; }

  friend constexpr Address operator+(Address a, Bytes n) { return Address(a.value_ + n.count()); }
  friend constexpr Address operator-(Address a, Bytes n) { return Address(a.value_ - n.count()); }
  friend constexpr Bytes operator-(Address a, Address b) { return Bytes(static_cast<int64_t>(a.value_ - b.value_)); }

  friend constexpr bool operator==(Address a, Address b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(Address a, Address b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(Address a, Address b) { return a.value_ < b.value_; }
  friend constexpr bool operator<=(Address a, Address b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>(Address a, Address b) { return a.value_ > b.value_; }
  friend constexpr bool operator>=(Address a, Address b) { return a.value_ >= b.value_; }

 private:
  uint64_t value_ = 0;
};

}  // namespace gmlake

#endif  // GMLAKE_BASE_BYTES_H_
