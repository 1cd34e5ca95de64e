#include "engine/data/corrupt_samples.h"

#include <iterator>

namespace spire::inline data {

void CorruptSamples::record(int64_t sample, const char* problem) const {
  std::lock_guard lock(mutex_);
  corrupt_.insert(sample);
  problems_.emplace(sample, problem);
  // The lowest indices are kept, so that the report does not depend on the order of threads.
  if (problems_.size() > max_problems) problems_.erase(std::prev(problems_.end()));
}

void CorruptSamples::refuse(const Error& error) {
  fail(
      Category::data,
      "{}, or leave such samples out by data.on_error: skip; trainer --check --deep names them all",
      error.what());
}

bool CorruptSamples::is_corrupt(int64_t sample) const {
  std::lock_guard lock(mutex_);
  return corrupt_.contains(sample);
}

int64_t CorruptSamples::skipped() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(corrupt_.size());
}

std::vector<std::string> CorruptSamples::problems() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const auto& [sample, text] : problems_) texts.push_back(text);
  return texts;
}

}  // namespace spire::inline data
