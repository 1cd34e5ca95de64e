// Shows the tensors of a step, tower by tower, to one observer, in host memory. The same mechanism
// serves the search for non-finite values and the comparison of two runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/device_memory.h"
#include "engine/device/stream.h"
#include "engine/graph/plan_observer.h"

namespace spire {

// Receives the inputs of each tower, what its kernels write, in their order, and no other tensors.
// Each lane calls it for its own towers: calls for one tower come one after another, calls for
// different towers may come at the same time.
class TensorObserver {
 public:
  virtual ~TensorObserver() = default;
  // values: spec.bytes() in host memory, valid during the call.
  virtual void on_tensor(int tower, const TensorName& name, const TensorSpec& spec,
                         std::span<const std::byte> values) = 0;
};

// Passes the tensors of one tower's run on, from a GPU by way of staging memory.
class TowerTap : public PlanObserver {
 public:
  TowerTap(TensorObserver& observer, int tower, Stream& stream)
      : observer_(observer), tower_(tower), stream_(stream) {}
  void on_tensor(const PlanTensor& tensor) override;

 private:
  TensorObserver& observer_;
  int tower_;
  Stream& stream_;
  std::unique_ptr<DeviceMemory> staging_;
};

// A tensor of a step: where it is, and the hash of its bytes.
struct TensorRecord {
  TensorName name;
  TensorSpec spec;
  uint64_t hash = 0;
};

// Records all tensors of a step. towers: their number in the run.
class TensorRecorder : public TensorObserver {
 public:
  explicit TensorRecorder(int64_t towers) : towers_(static_cast<size_t>(towers)) {}
  void on_tensor(int tower, const TensorName& name, const TensorSpec& spec,
                 std::span<const std::byte> values) override;
  const std::vector<std::vector<TensorRecord>>& towers() const { return towers_; }

 private:
  std::vector<std::vector<TensorRecord>> towers_;
};

// Copies tensor number `index` of one tower.
class TensorCopy : public TensorObserver {
 public:
  TensorCopy(int tower, size_t index) : tower_(tower), index_(index) {}
  void on_tensor(int tower, const TensorName& name, const TensorSpec& spec,
                 std::span<const std::byte> values) override;
  const std::vector<std::byte>& values() const { return values_; }

 private:
  int tower_;
  size_t index_, seen_ = 0;
  std::vector<std::byte> values_;
};

// Finds the first tensor of each tower that has a value which is not finite.
class NonFiniteSearch : public TensorObserver {
 public:
  struct Finding {
    TensorName name;
    TensorSpec spec;
    int64_t element = 0;  // index of its first such value
    double value = 0;
  };
  explicit NonFiniteSearch(int64_t towers) : towers_(static_cast<size_t>(towers)) {}
  void on_tensor(int tower, const TensorName& name, const TensorSpec& spec,
                 std::span<const std::byte> values) override;
  const std::vector<std::optional<Finding>>& towers() const { return towers_; }

 private:
  std::vector<std::optional<Finding>> towers_;
};

// Returns element `index` of values of a dtype, as a number.
double element_value(DType dtype, std::span<const std::byte> values, int64_t index);

// Returns "[3, 0, 17]", the coordinates of an element; "[]" of a scalar.
std::string coordinates(const TensorSpec& spec, int64_t index);

}  // namespace spire
