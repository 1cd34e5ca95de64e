// Some samples of a dataset, as a dataset of their own.
#pragma once
#include <memory>
#include <vector>

#include "engine/data/dataset.h"

namespace spire::inline data {

class SampleSubset : public Dataset {
 public:
  // Whether the broken samples and the files of `data` count as this one's: true for one of the
  // subsets of a dataset.
  enum class Reports { yes, no };

  // samples: of `data`, ascending, at least one. Sample i is samples[i] of `data`, with its random
  // numbers.
  SampleSubset(std::shared_ptr<const Dataset> data, std::vector<int64_t> samples, Reports reports);

  const SampleSpec& spec() const override { return data_->spec(); }
  int64_t count() const override { return std::ssize(samples_); }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;
  void read_labels(int64_t first, std::span<int32_t> out) const override;
  int64_t skipped() const override { return reports_ ? data_->skipped() : 0; }
  std::vector<std::string> problems() const override;
  // Neighbours here are neighbours there, so a run of as many samples is in about one chunk.
  int64_t chunk() const override { return data_->chunk(); }
  void verify_files() const override { data_->verify_files(); }
  std::vector<std::string> layout() const override { return data_->layout(); }
  std::vector<std::filesystem::path> files() const override { return data_->files(); }

 private:
  std::shared_ptr<const Dataset> data_;
  std::vector<int64_t> samples_;
  bool reports_;
};

}  // namespace spire::inline data
