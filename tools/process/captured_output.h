// What child processes write to a descriptor, kept in memory, and the error in it.
#pragma once
#include <string>
#include <utility>

namespace spire {

class CapturedOutput {
 public:
  CapturedOutput();  // throws Error(device)
  ~CapturedOutput();
  CapturedOutput(CapturedOutput&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  CapturedOutput& operator=(CapturedOutput&&) = delete;

  int descriptor() const { return descriptor_; }  // for ChildSetup::streams
  std::string text() const;                       // REQUIRES: nobody writes any more

 private:
  int descriptor_;  // a memfd
};

// Returns the message of the last line "error[6]: ..." in what it wrote to stderr; empty if there
// is none.
std::string reported_error(const std::string& err);

}  // namespace spire
