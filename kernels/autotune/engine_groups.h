// Engines for one operation that come in groups, as one choice among all.
#pragma once
#include <vector>

#include "kernels/autotune/engine_choice.h"

namespace spire::inline kernels {

struct EngineGroup {
  std::string name;
  Engines* engines;
};

// An engine's name is its group's and its own: "fp32 engine 46 1=0". Two groups may have one name
// where they refuse each other's engines.
class EngineGroups : public Engines {
 public:
  explicit EngineGroups(std::vector<EngineGroup> groups) : groups_(std::move(groups)) {}

  bool recall(const std::string& name) override;
  // In the order of the groups. Each may fill its share of what is left, so that one with many
  // engines leaves room for the others.
  size_t propose(size_t most) override;
  std::optional<float> time(size_t index) override;
  std::string settle(size_t index) override;

  size_t settled() const { return settled_; }  // the group of what was settled on

 private:
  struct Place {
    size_t group, index;
  };

  std::vector<EngineGroup> groups_;
  std::vector<Place> proposed_;
  size_t settled_ = 0;
};

}  // namespace spire::inline kernels
