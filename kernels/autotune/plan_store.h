// Plans of cuDNN as they outlive a run, compiled code included, so that the next run on such a
// device need not compile them; and how long a run's plans took.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace spire::inline kernels {

// Used by one thread at a time.
class PlanStore {
 public:
  // folder: has a file a plan, some 80 KB where it holds code. Empty: nothing is found or kept.
  explicit PlanStore(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  bool keeps() const { return !folder_.empty(); }
  // The plan of that name: kind of device, version of the library, operation and engine. None where
  // there is no such file, or it is damaged, which is counted.
  std::optional<std::string> find(const std::string& name);
  // What later runs shall find, from write() on.
  void keep(const std::string& name, std::string plan);
  bool has_new() const { return !new_.empty(); }
  // Makes the folder and the files; removes those written longest ago where the folder would grow
  // beyond 256 MiB. Throws Error(config) naming the file and the system's reason. One process at a
  // time.
  void write();

  // An operation's plan is ready after so many seconds, measurements of its rivals included.
  void count(double seconds) { ++prepared_, seconds_ += seconds; }
  size_t prepared() const { return prepared_; }
  size_t found() const { return found_; }      // of them, without making them
  size_t damaged() const { return damaged_; }  // files that were of no use
  double seconds() const { return seconds_; }
  // A plan that was found is of no use for cuDNN.
  void refuse() { --found_, ++damaged_; }

 private:
  std::filesystem::path file_of(const std::string& name) const;
  void remove_oldest(size_t max_bytes) const;

  std::filesystem::path folder_;
  std::map<std::string, std::string> new_;  // plans by name
  size_t prepared_ = 0, found_ = 0, damaged_ = 0;
  double seconds_ = 0;
};

// Counts an operation whose plan is made while it lives. store null: nowhere.
class PlanClock {
 public:
  explicit PlanClock(PlanStore* store) : store_(store) {}
  ~PlanClock() {
    if (store_) store_->count(std::chrono::duration<double>(Clock::now() - begin_).count());
  }
  PlanClock(const PlanClock&) = delete;
  PlanClock& operator=(const PlanClock&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  PlanStore* store_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace spire::inline kernels
