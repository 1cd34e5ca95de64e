// The sizes that `batch_size: auto` tries, in which order, and the one that fits. A run's setup
// chooses by plans, and tries its choice once before the run (RunSetup::try_batch()).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spire {

// Part of a device's free memory that a chosen batch may plan. The rest is for what no plan counts
// (CUDA's graphs and rounding, batches being read, the program) and for what others take meanwhile.
inline constexpr double chosen_share = 0.9;

// The largest batch of a tower that is chosen on CPUs: their speed gains little beyond it.
inline constexpr int64_t largest_cpu_batch = 128;

// The fewest steps of an epoch that a choice leaves, if the batch is not already at smallest_batch.
inline constexpr int64_t fewest_steps = 50, smallest_batch = 8;

struct BatchShape {
  int64_t batch_size = 1, towers = 1;

  bool operator==(const BatchShape&) const = default;
};

struct BatchRequest {
  int64_t devices = 1;  // that the config names, with missing ones
  bool on_cpus = true;
  int64_t samples = 0;                       // for training
  std::optional<int64_t> towers = {};        // fixed; none: one per device, or by global_batch
  std::optional<int64_t> global_batch = {};  // if set, towers is not

  // Returns the largest batch that may be chosen, whatever fits, and why.
  int64_t largest() const;
  std::string why_largest() const;
};

// Returns the shapes to choose from, by ascending batch_size: powers of two and, from 8 on, three
// multiples of 8 between two of them (8, 16, 24, 32, 40, 48, 56, 64, 80, ...). With global_batch:
// its divisors that give each device a tower; if there are some that give all devices equally many
// towers, only these.
std::vector<BatchShape> batch_shapes(const BatchRequest& request);

// Returns the index of the last shape that fits, 0 if none does. If all shapes have equally many
// towers, a smaller batch fits wherever a larger one does: fits() is called for at most log2(number
// of shapes) + 2 shapes. Otherwise it is called for one after another, from the last one on, since
// more towers have more sums of gradients.
size_t last_fitting(const std::vector<BatchShape>& shapes,
                    const std::function<bool(const BatchShape&)>& fits);

}  // namespace spire
