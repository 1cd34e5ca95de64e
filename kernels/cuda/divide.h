// Division by a number that is fixed when a kernel is made, for index arithmetic of CUDA kernels.
#pragma once
#include <cstdint>

#include <spire/tensor.h>

namespace spire {

// Quotient and remainder by a fixed divisor: a multiplication and a shift if both numbers are below
// 2^31 (Granlund & Montgomery, "Division by Invariant Integers using Multiplication", 1994).
class Divider {
 public:
  Divider() : Divider(1) {}
  // A divisor of 0, the length of an empty axis, counts as 1.
  explicit Divider(int64_t divisor) : divisor_(divisor < 1 ? 1 : divisor) {
    if (divisor_ >> 31) return;
    while ((int64_t{1} << shift_) < divisor_) ++shift_;
    // multiplier = 2^32 (2^shift - divisor) / divisor + 1, with shift = ceil(log2(divisor))
    auto rest = static_cast<uint64_t>((int64_t{1} << shift_) - divisor_);
    multiplier_ = static_cast<uint32_t>((rest << 32) / static_cast<uint64_t>(divisor_) + 1);
  }

  struct Parts {
    int64_t quotient, remainder;
  };
  SPIRE_HOST_DEVICE Parts divide(int64_t n) const {  // REQUIRES: n >= 0
    int64_t quotient = (n | divisor_) >> 31 ? n / divisor_ : narrow(static_cast<uint32_t>(n));
    return {quotient, n - quotient * divisor_};
  }
  SPIRE_HOST_DEVICE int64_t divisor() const { return divisor_; }

 private:
  // floor(n (2^32 + multiplier) / 2^(32 + shift)); the sum cannot overflow, as n < 2^31.
  SPIRE_HOST_DEVICE uint32_t narrow(uint32_t n) const {
    auto high = static_cast<uint32_t>((uint64_t{n} * multiplier_) >> 32);
    return (high + n) >> shift_;
  }

  int64_t divisor_;
  uint32_t multiplier_ = 0;
  int shift_ = 0;
};

}  // namespace spire
