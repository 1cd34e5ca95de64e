// Choice of an engine (an algorithm of a library, or Spire's own) for an operation: the fastest one
// that can compute it, measured once.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cuda/tuning.h"

namespace spire {

// The engines that can compute one operation, from one library or several.
class Engines {
 public:
  virtual ~Engines() = default;
  // Prepares and selects the engine of this name. Returns false if that is not possible.
  virtual bool recall(const std::string& name) = 0;
  // Prepares at most `most` engines, the library's favourite first. Returns how many there are.
  virtual size_t propose(size_t most) = 0;
  // Returns the time of one run of a proposed engine, in any unit; none if the run fails. Throws
  // Error(out_of_memory) if a trial finds no memory, and errors that leave the device unusable.
  virtual std::optional<float> time(size_t index) = 0;
  // Runs a proposed engine twice on the same numbers. Returns true if both runs give the same bits.
  virtual bool repeats(size_t index) = 0;
  virtual std::string select(size_t index) = 0;  // selects a proposed engine; returns its name
};

// How a caller tries an engine of a library: Engines::time() and repeats() of the engine at hand.
template <typename Engine>
struct EngineTrials {
  std::function<std::optional<float>(const Engine& engine)> time;
  std::function<bool(const Engine& engine)> repeats;
};

// The most engines to try: further ones are about as fast, and preparing one may take a second.
inline constexpr size_t max_engines = 10;

// Selects one of the engines: the one that `tuning` has for the key, if it still works; else the
// fastest that repeats(), if `tuning` measures and memory suffices; else, or if `tuning` is null,
// the library's favourite. Stores the choice in `tuning`, for later runs only if measured. Returns
// false if no engine works.
bool choose_engine(Engines& engines, const std::string& key, Tuning* tuning);

// Returns the index of the first candidate whose fastest run takes at most 3 % more than the
// fastest of all; none if all fail. time(i) runs candidate i once and returns the time, or none if
// the run fails, which excludes the candidate. Candidates take turns; the first run of each is a
// warm-up, and a candidate that takes over twice the best time is not run again.
std::optional<size_t> fastest(size_t candidates,
                              const std::function<std::optional<float>(size_t)>& time);

struct EngineGroup {
  std::string name;
  Engines* engines;          // outlives the EngineGroups
  bool last_resort = false;  // true: proposes only if no group before it does
};

// Several groups of engines to choose from as if they were one. An engine's name begins with its
// group's: "fp32 engine 46 1=0". Groups may share a name if each refuses the others' engines.
class EngineGroups : public Engines {
 public:
  explicit EngineGroups(std::vector<EngineGroup> groups) : groups_(std::move(groups)) {}

  bool recall(const std::string& name) override;
  size_t propose(size_t most) override;  // each group gets an equal share of what earlier ones left
  std::optional<float> time(size_t index) override;
  bool repeats(size_t index) override;
  std::string select(size_t index) override;

  size_t selected() const { return selected_; }  // index of the selected engine's group

 private:
  struct Proposal {
    size_t group, index;  // index within the group
  };

  std::vector<EngineGroup> groups_;
  std::vector<Proposal> proposed_;
  size_t selected_ = 0;
};

// Names of Spire's own ("native") kernels in checkpoints and caches. A kernel whose results have
// other bits needs another name.
inline constexpr const char* native_name = "own";
inline constexpr const char* native_mma_name = "own mma";  // attention on tensor cores
inline bool is_native(std::string_view name) {
  return name == native_name || name == native_mma_name;
}

// A library's engines and one native kernel, which is also the fallback if the library has none.
class EnginesAndNative : public Engines {
 public:
  // Returns the time of one run of the native kernel, like Engines::time. An empty function means
  // that there is no native kernel. It is deterministic, so repeats() does not run it.
  using TimeNative = std::function<std::optional<float>()>;

  EnginesAndNative(Engines& library, TimeNative time_native, std::string name = native_name)
      : library_(library), time_native_(std::move(time_native)), name_(std::move(name)) {}

  bool recall(const std::string& name) override;
  size_t propose(size_t most) override;  // the library's first: its favourite wins if untimed
  std::optional<float> time(size_t index) override;
  bool repeats(size_t index) override { return index >= of_library_ || library_.repeats(index); }
  std::string select(size_t index) override;

  bool is_native() const { return is_native_; }  // true if the native kernel is selected

 private:
  Engines& library_;
  TimeNative time_native_;
  std::string name_;
  size_t of_library_ = 0;  // proposals below this index are the library's
  bool is_native_ = false;
};

}  // namespace spire
