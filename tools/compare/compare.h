// Says where two runs differ: by what their directories record, or, with a replay of both, by the
// first tensor.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace spire {

struct RunComparison {
  bool equal = false;  // to the last bit, in all that was compared
  int64_t steps = 0;   // that both runs record; 0: nothing was compared
  std::string text;    // for people, several lines
};

// Writes nothing. One thread at a time calls the methods of an object.
class ComparedRuns {
 public:
  // Reads both records. overrides: config keys that both runs are to have, such as "devices=cpu".
  // Throws Error(config), Error(checkpoint).
  ComparedRuns(const std::filesystem::path& a, const std::filesystem::path& b,
               const std::vector<std::string>& overrides = {});
  ~ComparedRuns();
  ComparedRuns(ComparedRuns&&) noexcept;
  ComparedRuns& operator=(ComparedRuns&&) noexcept;

  // Compares configs, losses, gradient norms and hashes of the weights.
  RunComparison compare_records() const;
  // Trains both again in this process from their last common checkpoint, on the devices of their
  // configs, with the memory of both at once, and names the first step, tower, op and tensor that
  // differ. `steps` is the last step that was replayed. Throws what train() throws.
  RunComparison bisect() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire
