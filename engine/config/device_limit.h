// A device of a config's list with a memory limit of its own: the word "cuda:0:8GiB", which YAML
// may also write {cuda:0: 8GiB}. Several such devices on one GPU have unequal parts of its memory.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace spire::inline config {

struct LimitedDevice {
  std::string name;   // the device's: "cuda:0", "GPU-1b2c", "cpu:0"; another word stays whole
  std::string limit;  // "8GiB" or a fraction of the device's memory, "0.5"; empty: no limit given
};

// Takes the limit off a word. Throws Error(config) if that is neither bytes with their unit nor a
// fraction, and for a limit behind a word that names no single device ("2xcuda:8GiB").
LimitedDevice split_limit(std::string_view word);

std::string to_word(const LimitedDevice& device);  // "cuda:0:8GiB"

// Returns the words without their limits.
std::vector<std::string> without_limits(std::vector<std::string> words);

}  // namespace spire::inline config
