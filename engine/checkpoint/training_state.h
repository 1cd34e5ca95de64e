// The state that a run needs to resume: plain fp32 tensors and their metadata, nothing of devices.
// A checkpoint file holds this and nothing else, so that any number of devices can read it. The
// tensors are large: they are listed, then read piece by piece, from a file, a run's devices or the
// host's memory.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/shape.h"
#include "engine/checkpoint/state_metadata.h"

namespace spire::inline checkpoint {

struct TensorEntry {
  std::string name;  // layer names joined by '.': "conv1.weight"
  Shape shape;
};

// One group of tensors. In this order: "/weights", the trained parameters; "/states", running
// statistics, which are not trained; "/optimizer/<slot>" ("momentum"; "m", "v"; "ema", averaged
// weights), one tensor for each weight, under the weight's name.
struct TensorGroup {
  std::string path;
  std::vector<TensorEntry> tensors;
};

inline constexpr const char* weights_group = "/weights";
inline constexpr const char* states_group = "/states";
inline constexpr const char* optimizer_groups = "/optimizer/";  // and the slot's name

// Read access to the tensors of a training state.
class SavedTensors {
 public:
  virtual ~SavedTensors() = default;

  virtual std::vector<TensorGroup> groups() const = 0;
  // Copies elements [begin, begin + out.size()), row-major, of one tensor of groups(). Throws Error
  // of the category of the place they are read from.
  virtual void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const = 0;

 protected:
  SavedTensors() = default;
  SavedTensors(const SavedTensors&) = default;
  SavedTensors& operator=(const SavedTensors&) = default;
};

struct NamedTensor {
  std::string name;
  Shape shape;
  std::vector<float> values;  // shape.elements() of them, row-major
};

// A whole state in the host's memory: for small models, and tests.
struct TrainingState : StateMetadata, SavedTensors {
  std::vector<NamedTensor> weights;
  std::vector<NamedTensor> states;
  std::vector<std::pair<std::string, std::vector<NamedTensor>>> optimizer;  // slot -> tensors

  std::vector<TensorGroup> groups() const override;
  void read(size_t group, size_t tensor, int64_t begin, std::span<float> out) const override;
  // The tensors of groups()[index].
  const std::vector<NamedTensor>& group(size_t index) const;
};

// Copies all of `tensors` into the vectors of `state`.
void read_all(const SavedTensors& tensors, TrainingState& state);

}  // namespace spire::inline checkpoint
