#include "kernels/cuda/engine_choice.h"

#include <algorithm>
#include <numeric>

#include "engine/base/fail.h"

namespace spire {
namespace {

struct Choice {
  std::optional<size_t> index;  // none: every engine fails or gives other bits each time
  bool measured = false;
};

// Returns the fastest of the engines that repeat their bits; measures nothing if there is one.
std::optional<size_t> fastest_that_repeats(Engines& engines, size_t count) {
  std::vector<size_t> left(count);
  std::iota(left.begin(), left.end(), size_t{0});
  for (; !left.empty(); --count) {
    auto place = count > 1 ? fastest(count, [&](size_t i) { return engines.time(left[i]); })
                           : std::optional<size_t>(0);
    if (!place) return {};
    if (engines.repeats(left[*place])) return left[*place];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(*place));
  }
  return {};
}

// Measures all engines. Too little memory for a trial is no reason to fail: the favourite may fit.
Choice measure(Engines& engines, size_t count) {
  try {
    return {fastest_that_repeats(engines, count), count > 1};
  } catch (const Error& error) {
    if (error.category() != Category::out_of_memory) throw;
    return {0, false};
  }
}

}  // namespace

bool choose_engine(Engines& engines, const std::string& key, Tuning* tuning) {
  // An earlier choice decides, unless its engine cannot be used any more.
  if (tuning) {
    auto known = tuning->find(key);
    if (known && engines.recall(*known)) return true;
  }
  bool measures = tuning && tuning->measures();
  size_t count = engines.propose(measures ? max_engines : 1);
  if (count == 0) return false;
  Choice choice = measures ? measure(engines, count) : Choice{0, false};
  if (!choice.index) return false;
  std::string name = engines.select(*choice.index);
  // For later runs only if measured: the favourite of a machine that lacks the rivals should not
  // bind machines that have them.
  if (tuning) tuning->keep(key, name, choice.measured);
  return true;
}

namespace {

constexpr int rounds = 5;
constexpr float near = 1.03f;     // times the best: as good as the best
constexpr float hopeless = 2.0f;  // times the best: not run again

struct Candidate {
  size_t index;
  std::optional<float> best = {};
};

float best_of(const std::vector<Candidate>& candidates) {
  std::optional<float> best;
  for (const Candidate& c : candidates)
    if (c.best) best = best ? std::min(*best, *c.best) : *c.best;
  return best.value_or(0);
}

}  // namespace

std::optional<size_t> fastest(size_t candidates,
                              const std::function<std::optional<float>(size_t)>& time) {
  // Warm-up: loads code and drops candidates that do not run at all.
  std::vector<Candidate> left;
  for (size_t i = 0; i < candidates; ++i)
    if (time(i)) left.push_back({i});
  // Candidates take turns, so that changes of the clock meet all; each counts by its best run.
  for (int round = 0; round < rounds; ++round) {
    float best = best_of(left);
    std::erase_if(left, [&](Candidate& c) {
      if (c.best && *c.best > hopeless * best) return false;
      auto taken = time(c.index);
      if (taken) c.best = std::min(c.best.value_or(*taken), *taken);
      return !taken;
    });
  }
  // The first that is near the best, so that noise does not decide between equals.
  float most = near * best_of(left);
  auto chosen =
      std::find_if(left.begin(), left.end(), [&](const Candidate& c) { return *c.best <= most; });
  return chosen == left.end() ? std::nullopt : std::optional(chosen->index);
}

bool EngineGroups::recall(const std::string& name) {
  for (size_t group = 0; group < groups_.size(); ++group) {
    std::string prefix = groups_[group].name + " ";
    if (!name.starts_with(prefix)) continue;
    // A refusal is not final: another group may have the same name, or a longer one.
    if (!groups_[group].engines->recall(name.substr(prefix.size()))) continue;
    selected_ = group;
    return true;
  }
  return false;
}

// Each group proposes an equal share of what the groups before it have left.
size_t EngineGroups::propose(size_t most) {
  proposed_.clear();
  auto sharing = static_cast<size_t>(
      std::ranges::count(groups_, false, [](const EngineGroup& g) { return g.last_resort; }));
  for (size_t group = 0; group < groups_.size() && proposed_.size() < most; ++group) {
    bool last_resort = groups_[group].last_resort;
    if (last_resort && !proposed_.empty()) continue;
    size_t left = most - proposed_.size();
    size_t share = last_resort ? left : (left + sharing - 1) / sharing;
    size_t count = groups_[group].engines->propose(share);
    for (size_t i = 0; i < count; ++i) proposed_.push_back({group, i});
    if (!last_resort) --sharing;
  }
  return proposed_.size();
}

std::optional<float> EngineGroups::time(size_t index) {
  auto [group, engine] = proposed_.at(index);
  return groups_[group].engines->time(engine);
}

bool EngineGroups::repeats(size_t index) {
  auto [group, engine] = proposed_.at(index);
  return groups_[group].engines->repeats(engine);
}

std::string EngineGroups::select(size_t index) {
  auto [group, engine] = proposed_.at(index);
  selected_ = group;
  return fmt::format("{} {}", groups_[group].name, groups_[group].engines->select(engine));
}

bool EnginesAndNative::recall(const std::string& name) {
  is_native_ = time_native_ && name == name_;
  return is_native_ || library_.recall(name);
}

// The native kernel takes the last of `most` places. With one place only the library is asked; the
// native kernel gets it if the library has no engine.
size_t EnginesAndNative::propose(size_t most) {
  of_library_ = library_.propose(std::max<size_t>(1, most - 1));
  return std::min(most, of_library_ + (time_native_ ? 1 : 0));
}

std::optional<float> EnginesAndNative::time(size_t index) {
  return index < of_library_ ? library_.time(index) : time_native_();
}

std::string EnginesAndNative::select(size_t index) {
  is_native_ = index >= of_library_;
  return is_native_ ? name_ : library_.select(index);
}

}  // namespace spire
