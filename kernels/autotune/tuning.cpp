#include "kernels/autotune/tuning.h"

namespace spire::inline kernels {

Tuning::Tuning(Options options)
    : chosen_(std::move(options.recorded)),
      cached_(std::move(options.cached)),
      plans_(std::move(options.plans)),
      measures_(options.measures) {}

std::optional<std::string> Tuning::find(const std::string& key) {
  if (const std::string* mine = chosen_.find(key)) return *mine;
  const std::string* earlier = cached_.find(key);
  if (!earlier) return std::nullopt;
  chosen_.set(key, *earlier);
  return *earlier;
}

void Tuning::keep(const std::string& key, const std::string& engine, bool for_others) {
  if (chosen_.find(key)) replaced_.set(key, engine);
  chosen_.set(key, engine);
  (for_others ? measured_ : unrivalled_).set(key, engine);
}

void Tuning::adopt(const TuningChoices& chosen) {
  TuningChoices all = chosen;
  all.add_missing(chosen_);
  chosen_ = std::move(all);
}

}  // namespace spire::inline kernels
