// Choices of engines (engine_choice.h): a map of them with its text format, the choices of one run,
// and the compiled plans of chosen engines.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <spire/error.h>

namespace spire {

// Cache on disk of compiled cuDNN execution plans (cuda/cudnn_plan.h), for later runs on the same
// kind of device. It also counts plans and the time that preparing them takes.
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

// Map from the key of an operation to its engine's name, as stored in files and sent to processes.
class TuningChoices {
 public:
  // key: kind of device, library versions and operation. Returns null if nothing was chosen.
  const std::string* find(const std::string& key) const;
  // Adds or replaces a choice. REQUIRES: each is one line of text, not empty and without tabs.
  void set(const std::string& key, const std::string& choice);
  void add_missing(const TuningChoices& others);  // adds choices for keys that have none here

  size_t size() const { return choices_.size(); }
  bool empty() const { return choices_.empty(); }
  bool operator==(const TuningChoices&) const = default;
  auto begin() const { return choices_.begin(); }  // pairs of key and choice, sorted by key
  auto end() const { return choices_.end(); }

  // Write and read a text: the line "spire tuning 1 <hash64 of the lines below>", then sorted lines
  // "<key><tab><choice>". from_text throws Error(category) unless the text is complete.
  std::string to_text() const;
  static TuningChoices from_text(std::string_view text, Category category);

 private:
  std::map<std::string, std::string> choices_;
};

// The choices of one run. A choice affects the bits of results, so each is made once: taken from
// the run's checkpoint, else from an earlier run on the same kind of device, else measured. One
// thread at a time.
class Tuning {
 public:
  struct Options {
    TuningChoices recorded = {};       // this run's, from its checkpoint; they come first
    TuningChoices cached = {};         // those of earlier runs
    std::filesystem::path plans = {};  // folder of compiled plans (PlanStore)
    bool measures = false;  // for keys in neither: measure, or (false) take the library's favourite
  };
  explicit Tuning(Options options);

  // Returns the engine chosen for an operation, none if there is none, and makes it this run's
  // choice.
  std::optional<std::string> find(const std::string& key);
  bool measures() const { return measures_; }
  // Runs body() without measuring, for operations whose time matters little.
  template <typename Body>
  void without_measuring(const Body& body) {
    struct Restored {
      ~Restored() { now = before; }
      bool &now, before;
    } measures{measures_, std::exchange(measures_, false)};
    body();
  }

  // Makes an engine this run's choice; it replaces an earlier choice, which cannot be used any
  // more. for_others: true if it was measured, so that later runs may use it, too.
  void keep(const std::string& key, const std::string& engine, bool for_others);
  // Another process's choices replace those of the same keys.
  void adopt(const TuningChoices& chosen);

  PlanStore& plans() { return plans_; }  // compiled plans of the chosen engines
  const PlanStore& plans() const { return plans_; }

  const TuningChoices& chosen() const { return chosen_; }  // all choices, for the checkpoint
  // Choices that keep() has added: measured ones, for later runs; unmeasured ones, as there was
  // only one engine, no memory, or measures() is false; and those that replaced an earlier choice.
  const TuningChoices& measured() const { return measured_; }
  const TuningChoices& unmeasured() const { return unmeasured_; }
  const TuningChoices& replaced() const { return replaced_; }

 private:
  TuningChoices chosen_, cached_, measured_, unmeasured_, replaced_;
  PlanStore plans_;
  bool measures_;
};

}  // namespace spire
