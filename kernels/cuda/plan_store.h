// Cache on disk of compiled cuDNN execution plans (cuda/cudnn_plan.h), for later runs on the same
// kind of device. It also counts plans and the time that preparing them takes.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace spire {

// Used by one thread at a time.
class PlanStore {
 public:
  // folder: one file per plan, about 80 KB if it holds code. An empty path keeps nothing.
  explicit PlanStore(std::filesystem::path folder = {}) : folder_(std::move(folder)) {}

  bool keeps() const { return !folder_.empty(); }
  // Returns the plan with this name (kind of device, library version, operation and engine); none
  // if there is no such file, or if it is damaged, which damaged() counts.
  std::optional<std::string> find(const std::string& name);
  void keep(const std::string& name, std::string plan);  // for find() from now on; write() saves it
  bool has_new() const { return !new_.empty(); }
  // Writes the new plans; before, deletes the folder's oldest files so that it has at most 256 MiB.
  // Throws Error(config) with the file and the system's reason. REQUIRES: one process at a time.
  void write();

  // Counts an operation that took `seconds` to prepare, with the measurement of all its engines.
  void count(double seconds) { ++prepared_, seconds_ += seconds; }
  size_t prepared() const { return prepared_; }
  size_t found() const { return found_; }      // plans that find() returned
  size_t damaged() const { return damaged_; }  // files that could not be used
  double seconds() const { return seconds_; }
  // Counts the plan that find() returned last as damaged, as cuDNN refuses it.
  void count_damaged() { --found_, ++damaged_; }

 private:
  std::filesystem::path file_of(const std::string& name) const;
  void remove_oldest(size_t max_bytes) const;

  std::filesystem::path folder_;
  std::map<std::string, std::string> new_;  // plans by name
  size_t prepared_ = 0, found_ = 0, damaged_ = 0;
  double seconds_ = 0;
};

// On destruction counts an operation in a store (null: does nothing), with the time since
// construction.
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

}  // namespace spire
