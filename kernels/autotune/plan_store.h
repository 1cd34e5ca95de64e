// Cache of compiled cuDNN plans on disk, for the next run on such a device. It also counts plans
// and the time that they take.
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
  // folder: one file per plan, about 80 KB if it holds code. Empty: nothing is found or kept.
  explicit PlanStore(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  bool keeps() const { return !folder_.empty(); }
  // Returns the plan of that name (kind of device, library version, operation and engine); none if
  // there is no such file, or it is damaged, which is counted.
  std::optional<std::string> find(const std::string& name);
  void keep(const std::string& name, std::string plan);  // for later runs: write() writes it
  bool has_new() const { return !new_.empty(); }
  // Writes the new plans; the folder's oldest files make room, so that it has 256 MiB at most.
  // Throws Error(config) with the file and the system's reason. REQUIRES: one process at a time.
  void write();

  // Counts an operation whose plan took `seconds`, measurements of its rivals included.
  void count(double seconds) { ++prepared_, seconds_ += seconds; }
  size_t prepared() const { return prepared_; }
  size_t found() const { return found_; }      // plans from the folder
  size_t damaged() const { return damaged_; }  // files that could not be used
  double seconds() const { return seconds_; }
  void refuse() { --found_, ++damaged_; }  // cuDNN refuses the plan found last

 private:
  std::filesystem::path file_of(const std::string& name) const;
  void remove_oldest(size_t max_bytes) const;

  std::filesystem::path folder_;
  std::map<std::string, std::string> new_;  // plans by name
  size_t prepared_ = 0, found_ = 0, damaged_ = 0;
  double seconds_ = 0;
};

// Counts the time from construction to destruction in a store, unless that is null.
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
