#include "engine/data/sample_subset.h"

#include <utility>

#include <spire/error.h>

namespace spire::inline data {

SampleSubset::SampleSubset(std::shared_ptr<const Dataset> data, std::vector<int64_t> samples,
                           Reports reports)
    : data_(std::move(data)), samples_(std::move(samples)), reports_(reports == Reports::yes) {
  require(!samples_.empty(), "a subset without samples");
}

void SampleSubset::read(std::span<const int64_t> samples, int64_t epoch,
                        std::span<std::byte* const> columns) const {
  thread_local std::vector<int64_t> there;  // grows once a reader thread
  there.clear();
  for (int64_t sample : samples) there.push_back(samples_[static_cast<size_t>(sample)]);
  data_->read(there, epoch, columns);
}

// Reads the labels of all samples from the first to the last one, in between those of others.
void SampleSubset::read_labels(int64_t first, std::span<int32_t> out) const {
  if (out.empty()) return;
  std::span<const int64_t> wanted = std::span(samples_).subspan(static_cast<size_t>(first));
  wanted = wanted.first(out.size());
  std::vector<int32_t> labels(static_cast<size_t>(wanted.back() - wanted.front() + 1));
  data_->read_labels(wanted.front(), labels);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = labels[static_cast<size_t>(wanted[i] - wanted.front())];
}

std::vector<std::string> SampleSubset::problems() const {
  return reports_ ? data_->problems() : std::vector<std::string>();
}

}  // namespace spire::inline data
