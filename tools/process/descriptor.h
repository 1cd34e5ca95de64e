// A file descriptor that is closed with its owner.
#pragma once
#include <utility>

#include <unistd.h>

namespace spire {

class Descriptor {
 public:
  Descriptor() = default;                               // none
  explicit Descriptor(int number) : number_(number) {}  // -1: none; open() returns it if it fails
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  operator int() const { return number_; }

 private:
  int number_ = -1;
};

}  // namespace spire
