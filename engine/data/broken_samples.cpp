#include "engine/data/broken_samples.h"

#include <iterator>

namespace spire::inline data {

void BrokenSamples::note(int64_t sample, const char* problem) const {
  std::lock_guard lock(mutex_);
  broken_.insert(sample);
  problems_.emplace(sample, problem);
  if (problems_.size() > max_problems) problems_.erase(std::prev(problems_.end()));
}

void BrokenSamples::refuse(const Error& error) {
  fail(
      Category::data,
      "{}, or leave such samples out by data.on_error: skip; trainer --check --deep names them all",
      error.what());
}

bool BrokenSamples::is_broken(int64_t sample) const {
  std::lock_guard lock(mutex_);
  return broken_.contains(sample);
}

int64_t BrokenSamples::skipped() const {
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(broken_.size());
}

std::vector<std::string> BrokenSamples::problems() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const auto& [sample, text] : problems_) texts.push_back(text);
  return texts;
}

}  // namespace spire::inline data
