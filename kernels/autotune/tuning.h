// Choices of engines: their text format, and the set that one run makes and uses.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <spire/error.h>

#include "kernels/autotune/plan_store.h"

namespace spire::inline kernels {

// Map from an operation's key to its engine's name, as in files and messages between processes.
class TuningChoices {
 public:
  // key: kind of device, library versions and operation. Returns null if nothing was chosen.
  const std::string* find(const std::string& key) const;
  // Replaces an earlier choice. REQUIRES: each is one line of text without tabs, not empty.
  void set(const std::string& key, const std::string& choice);
  void add_missing(const TuningChoices& others);  // for the keys that have no choice here

  size_t size() const { return choices_.size(); }
  bool empty() const { return choices_.empty(); }
  bool operator==(const TuningChoices&) const = default;
  auto begin() const { return choices_.begin(); }  // pairs of key and choice, sorted by key
  auto end() const { return choices_.end(); }

  // Write and read "spire tuning 1 <hash64 of the lines below>", then sorted lines
  // "<key><tab><choice>". from_text throws Error(category) unless the text is complete.
  std::string to_text() const;
  static TuningChoices from_text(std::string_view text, Category category);

 private:
  std::map<std::string, std::string> choices_;
};

// The choices of one run. A choice decides bits of the result, so each is made once: taken from the
// run's checkpoint, else from an earlier run on such a device, else measured. One thread at a time.
class Tuning {
 public:
  struct Options {
    TuningChoices recorded = {};       // of this run, from its checkpoint; they come first
    TuningChoices cached = {};         // of earlier runs
    std::filesystem::path plans = {};  // folder of compiled plans (PlanStore)
    bool measures = false;  // measure what is in neither; else take the library's favourite
  };
  explicit Tuning(Options options);

  // Returns the engine for an operation and makes it this run's choice. None if nothing was chosen.
  std::optional<std::string> find(const std::string& key);
  bool measures() const { return measures_; }

  // Makes an engine this run's choice, in place of one that cannot be used any more. for_others: it
  // was measured, so later runs use it, too.
  void keep(const std::string& key, const std::string& engine, bool for_others);
  void adopt(const TuningChoices& chosen);  // another process's choices replace those of equal keys

  PlanStore& plans() { return plans_; }  // of the chosen engines
  const PlanStore& plans() const { return plans_; }

  const TuningChoices& chosen() const { return chosen_; }  // all, for the checkpoint
  // New choices: measured, for later runs; unmeasured, for want of rivals or memory; and those made
  // in place of choices that cannot be used any more.
  const TuningChoices& measured() const { return measured_; }
  const TuningChoices& unmeasured() const { return unmeasured_; }
  const TuningChoices& replaced() const { return replaced_; }

 private:
  TuningChoices chosen_, cached_, measured_, unmeasured_, replaced_;
  PlanStore plans_;
  bool measures_;
};

}  // namespace spire::inline kernels
