// Fake engines for tests of choices: they have times and compute nothing.
#pragma once
#include <algorithm>
#include <vector>

#include "engine/base/fail.h"
#include "kernels/cuda/engine_choice.h"

namespace spire::testing {

inline TuningChoices one_choice(const std::string& key, const std::string& engine) {
  TuningChoices choices;
  choices.set(key, engine);
  return choices;
}

// Engines "e0", "e1", ... with given times. A negative time: the engine fails when it runs.
class FakeEngines : public Engines {
 public:
  explicit FakeEngines(std::vector<float> times) : times_(std::move(times)) {}

  bool recall(const std::string& name) override {
    for (size_t i = 0; i < times_.size(); ++i) {
      if (name != fmt::format("e{}", i)) continue;
      selected = name;
      return true;
    }
    return false;
  }
  size_t propose(size_t most) override {
    proposed = std::min(most, times_.size());
    return proposed;
  }
  std::optional<float> time(size_t index) override {
    ++runs;
    if (!memory) fail(Category::out_of_memory, "none left");
    if (ruins) fail(Category::device, "an illegal address");
    return times_[index] < 0 ? std::nullopt : std::optional(times_[index]);
  }
  bool repeats(size_t index) override {
    asked_to_repeat.push_back(index);
    return !std::ranges::count(varying, index);
  }
  std::string select(size_t index) override { return selected = fmt::format("e{}", index); }

  bool memory = true;                // false: there is none for a trial
  bool ruins = false;                // true: a run corrupts the device
  std::vector<size_t> varying = {};  // engines whose bits are others each time
  std::vector<size_t> asked_to_repeat = {};
  size_t proposed = 0;
  int runs = 0;
  std::string selected;

 private:
  std::vector<float> times_;
};

}  // namespace spire::testing
