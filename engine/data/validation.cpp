#include "engine/data/validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/dataset_kinds.h"
#include "engine/data/images/augment.h"
#include "engine/data/part_names.h"
#include "engine/data/sampler.h"

namespace spire {
namespace {

// Runs of windows of tokens that are held out together.
constexpr int64_t windows_together = 8;
// Samples that are divided: drawing and keeping the numbers of so many takes minutes and gigabytes.
constexpr int64_t max_divided = int64_t{1} << 29;

bool has_windows(const Dataset& data) {
  return data.spec().find("tokens") != nullptr;
}

// Groups of which the same share is held out: the samples of each class, ascending.
std::map<int32_t, std::vector<int64_t>> strata_of(const Dataset& data) {
  std::map<int32_t, std::vector<int64_t>> strata;
  if (data.spec().find("labels") == nullptr) {
    strata[0] = sequence(0, data.count());
    return strata;
  }
  for_each_label(data, [&](int64_t sample, int32_t label) { strata[label].push_back(sample); });
  return strata;
}

ValidationSplit split_windows(int64_t count, double share) {
  int64_t runs = (count + windows_together - 1) / windows_together;
  std::vector<bool> held_out = held_out_of(runs, share, 0);
  ValidationSplit split;
  for (int64_t i = 0; i < count; ++i) {
    auto run = static_cast<size_t>(i / windows_together);
    bool before_run =
        (i + 1) % windows_together == 0 && run + 1 < held_out.size() && held_out[run + 1];
    if (held_out[run]) {
      split.val.push_back(i);
    } else if (!before_run) {
      split.train.push_back(i);
    }
  }
  return split;
}

ValidationSplit split_samples(const Dataset& data, double share) {
  ValidationSplit split;
  for (const auto& [stratum, samples] : strata_of(data)) {
    std::vector<bool> held_out = held_out_of(std::ssize(samples), share, stratum);
    for (size_t i = 0; i < samples.size(); ++i)
      (held_out[i] ? split.val : split.train).push_back(samples[i]);
  }
  std::ranges::sort(split.train);
  std::ranges::sort(split.val);
  return split;
}

// Some samples of a dataset, as a dataset of their own.
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

// All samples of two datasets with equal columns, one behind the other.
class JoinedDataset : public Dataset {
 public:
  JoinedDataset(std::unique_ptr<Dataset> first, std::unique_ptr<Dataset> second)
      : first_(std::move(first)), second_(std::move(second)) {
    require(first_->spec().columns == second_->spec().columns, "joined datasets of other columns");
  }

  const SampleSpec& spec() const override { return first_->spec(); }
  int64_t count() const override { return first_->count() + second_->count(); }
  // Sample by sample: this serves evaluations, which read in order.
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    std::array<std::byte*, max_columns> at{};
    require(columns.size() <= at.size(), "a dataset of {} columns", columns.size());
    std::ranges::copy(columns, at.begin());
    for (int64_t sample : samples) {
      bool is_first = sample < first_->count();
      int64_t there = is_first ? sample : sample - first_->count();
      (is_first ? first_ : second_)->read({&there, 1}, epoch, {at.data(), columns.size()});
      for (size_t c = 0; c < columns.size(); ++c) at[c] += spec().columns[c].row_bytes();
    }
  }
  void read_labels(int64_t first, std::span<int32_t> out) const override {
    int64_t of_first = std::clamp<int64_t>(first_->count() - first, 0, std::ssize(out));
    auto [begin, end] = std::pair(out.first(static_cast<size_t>(of_first)),
                                  out.subspan(static_cast<size_t>(of_first)));
    if (!begin.empty()) first_->read_labels(first, begin);
    if (!end.empty()) second_->read_labels(first + of_first - first_->count(), end);
  }
  int64_t skipped() const override { return first_->skipped() + second_->skipped(); }
  std::vector<std::string> problems() const override {
    std::vector<std::string> all = joined(first_->problems(), second_->problems());
    all.resize(std::min(all.size(), max_problems));
    return all;
  }
  void verify_files() const override {
    first_->verify_files();
    second_->verify_files();
  }
  std::vector<std::string> layout() const override {
    return joined(first_->layout(), second_->layout());
  }
  std::vector<std::filesystem::path> files() const override {
    return joined(first_->files(), second_->files());
  }

 private:
  template <typename T>
  static std::vector<T> joined(std::vector<T> all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static constexpr size_t max_columns = 8;

  std::unique_ptr<Dataset> first_, second_;
};

}  // namespace

namespace {

// A file as the system knows it, whatever its name; nullopt: it cannot be found.
std::optional<std::pair<dev_t, ino_t>> identity_of(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return std::pair(status.st_dev, status.st_ino);
}

// Refuses test data as validation data: what chose the weights measures nothing.
void require_other_files(const DatasetPair& val, const Dataset& test, const std::string& path) {
  std::set<std::pair<dev_t, ino_t>> of_test;
  for (const std::filesystem::path& file : test.files())
    if (auto identity = identity_of(file)) of_test.insert(*identity);
  for (const Dataset* part : {val.train.get(), val.test.get(), val.val.get()})
    for (const std::filesystem::path& file :
         part ? part->files() : std::vector<std::filesystem::path>{})
      if (auto identity = identity_of(file); identity && of_test.contains(*identity))
        fail(Category::config,
             "data.val.path: {}: its {} is test data of this run, so validation on it would spoil "
             "the test; give other files, or use data.val.share, which holds out training samples",
             printable(path), printable(file.string()));
}

}  // namespace

std::vector<bool> held_out_of(int64_t count, double share, int32_t stratum) {
  RandomStream stream(0, Purpose::test_split, split_streams::validation,
                      static_cast<uint32_t>(stratum));
  std::vector<bool> marks(static_cast<size_t>(count));
  auto held_out = static_cast<int64_t>(std::llround(share * static_cast<double>(count)));
  for (int64_t i = 0; i < held_out; ++i)
    marks[static_cast<size_t>(permuted(stream, count, i))] = true;
  return marks;
}

ValidationSplit split_validation(const Dataset& train, double share) {
  if (train.count() > max_divided)
    fail(
        Category::config,
        "data.val.share: divides {} samples at most, as it draws and keeps the number of each, and "
        "there are {}; give other files by data.val.path, or fewer samples",
        max_divided, train.count());
  ValidationSplit split =
      has_windows(train) ? split_windows(train.count(), share) : split_samples(train, share);
  if (split.val.empty() || split.train.empty())
    fail(Category::config,
         "data.val.share: {} of {} training samples leaves none for {}; use another share, or "
         "more samples",
         share, train.count(), split.val.empty() ? "validation" : "training");
  return split;
}

void hold_out_validation(const DataConfig& config, const std::function<DatasetPair()>& plain,
                         DatasetPair& data) {
  ValidationSplit split = split_validation(*data.train, config.val.share);
  // Images of evaluations may have another size.
  bool reads_otherwise = plain && (changes_pixels(config.augment) || has_windows(*data.train) ||
                                   data.train->spec().columns != data.test->spec().columns);
  std::vector<bool> held_out(static_cast<size_t>(data.train->count()));
  for (int64_t sample : split.val) held_out[static_cast<size_t>(sample)] = true;
  data.train->set_held_out(held_out);
  std::shared_ptr<const Dataset> train = std::move(data.train);
  std::shared_ptr<const Dataset> source = train;
  if (reads_otherwise) {
    std::unique_ptr<Dataset> again = std::move(plain().train);
    again->set_held_out(held_out);
    source = std::move(again);
  }
  using Reports = SampleSubset::Reports;
  data.train = std::make_unique<SampleSubset>(train, std::move(split.train), Reports::yes);
  data.val = std::make_unique<SampleSubset>(source, std::move(split.val),
                                            reads_otherwise ? Reports::yes : Reports::no);
}

void open_validation(const DataConfig& config, const ReadOptions& options, DatasetPair& data) {
  const SampleSpec& trained = data.test->spec();  // the training data's, in the size of evaluations
  DataConfig other = config;
  other.path = config.val.path;
  other.val = {};
  other.augment = {};
  if (!other.tokens.text.empty()) other.tokens.text = {config.val.path};
  if (!trained.normalization.mean.empty() && find_dataset_kind(config.name)->images) {
    other.mean = trained.normalization.mean;
    other.stddev = trained.normalization.stddev;
  }
  ReadOptions read = options;
  read.as_evaluation = true;
  read.trained = std::make_shared<SampleSpec>(trained);
  read.trained_classes = true;
  DatasetPair val = open_dataset(other, read);
  const SampleSpec& found = val.train->spec();
  if (found.columns != trained.columns || found.feature_names != trained.feature_names)
    fail(Category::data,
         "data.val.path: {}: its columns are not those of the training data in number, names and "
         "order; give it the same ones",
         config.val.path);
  require_other_files(val, *data.test, config.val.path);
  val = match_validation_schema(std::move(val), trained);
  for (std::string& note : val.notes) data.notes.push_back(fmt::format("data.val.path: {}", note));
  data.val = std::make_unique<JoinedDataset>(std::move(val.train), std::move(val.test));
  if (val.val) data.val = std::make_unique<JoinedDataset>(std::move(data.val), std::move(val.val));
}

}  // namespace spire
