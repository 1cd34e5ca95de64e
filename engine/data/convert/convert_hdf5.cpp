// Conversion to one HDF5 file: several threads read blocks of rows and write them to their offsets
// in the file's skeleton.
#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>
#include <set>

#include <fmt/ranges.h>

#include <spire/run_config.h>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/read_file.h"
#include "engine/data/convert/conversion.h"
#include "engine/data/sampler.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr int64_t checksum_block = 256 << 10;    // of the input's rows with one checksum
constexpr int64_t max_skeleton_bytes = 1 << 20;  // of the file beside rows, names and attributes

fs::path file_for(const fs::path& to) {
  bool file = to.extension() == ".h5" || to.extension() == ".hdf5";
  return file ? to : to / "data.h5";
}

// One conversion. A block is a range of rows of one split, in the order of hdf5_splits. Blocks
// finish in any order; the journal counts those finished without a gap.
class Hdf5Conversion {
 public:
  Hdf5Conversion(const RunConfig& config, const ConvertOptions& options)
      : config_(config),
        options_(options),
        target_(file_for(options.to)),
        partial_(target_.string() + ".partial"),
        journal_(target_.string() + ".journal", 1) {}

  ConvertResult run() {
    require_replaceable(target_, Category::config);
    if (is_there(target_) && !options_.overwrite) refuse_existing(target_);
    make_folder(target_.parent_path(), target_);
    ConversionFingerprint source = open_source();
    PreallocatedFile file(partial_);
    file_ = &file;
    bool resumed = start_or_resume(source);
    std::exception_ptr error = run_blocks(
        std::min(config_.data.workers, blocks()), "convert", [&] { return next_block(); },
        [&](int64_t block, SampleBuffer& rows) { copy_block(block, rows); });
    journal_.save(file);
    if (error) std::rethrow_exception(error);
    // Complete, and synced with the journal: the partial file takes the target's name.
    require_replaceable(target_, Category::config);
    file.take_mode_of(target_);
    rename_durably(partial_, target_);
    journal_.remove();
    ConvertResult result = {.path = target_,
                            .format = "hdf5",
                            .train = rows_.count[0],
                            .test = rows_.count[1],
                            .val = rows_.splits() > 2 ? rows_.count[2] : 0,
                            .bytes = skeleton_.bytes,
                            .resumed = resumed};
    for (const Dataset* split : splits_) {
      result.skipped += split->skipped();
      if (result.first_problem.empty()) result.first_problem = split->first_problem();
    }
    return result;
  }

 private:
  ConversionFingerprint open_source();
  bool start_or_resume(const ConversionFingerprint& source);
  std::optional<int64_t> next_block();
  void copy_block(int64_t block, SampleBuffer& buffer);
  void finish_block(int64_t block);

  int64_t blocks() const {
    int64_t all = 0;
    for (size_t s = 0; s < rows_.splits(); ++s) all += rows_.blocks(s);
    return all;
  }
  // Returns the rows of the first `blocks` blocks of all splits.
  int64_t rows_in(int64_t blocks) const {
    int64_t rows = 0;
    for (size_t s = 0; s < rows_.splits(); blocks -= rows_.blocks(s++))
      rows += std::clamp<int64_t>(blocks * rows_.block, 0, rows_.count[s]);
    return rows;
  }
  WorkProgress progress() { return {rows_in(journal_.done()), rows_in(blocks())}; }

  const RunConfig& config_;
  const ConvertOptions& options_;
  fs::path target_, partial_;
  DatasetPair source_;
  std::vector<const Dataset*> splits_;  // of source_, in the order of hdf5_splits
  std::optional<Sampler> order_;        // of the training rows; none: source order
  SkeletonRows rows_;
  Hdf5Skeleton skeleton_;
  const PreallocatedFile* file_ = nullptr;

  std::mutex mutex_;                  // guards the members below
  ConversionJournal journal_;         // done(): blocks finished without a gap
  std::set<int64_t> finished_ahead_;  // finished blocks behind a gap
  int64_t next_ = 0;
};

ConversionFingerprint Hdf5Conversion::open_source() {
  source_ = open_dataset(config_.data, {.seed = config_.seed, .as_stored = true});
  splits_ = {source_.train.get(), source_.test.get()};
  if (source_.val) splits_.push_back(source_.val.get());
  const SampleSpec& spec = splits_[0]->spec();
  if (std::ranges::any_of(spec.table, &TableColumn::embedded))
    fail(Category::config,
         "data.csv.categories: embedding is of tables alone, not of HDF5 files; convert with "
         "data.csv.categories=one_hot");
  for (const Dataset* split : splits_) rows_.count.push_back(split->count());
  auto row_bytes = static_cast<int64_t>(spec.columns[0].row_bytes());
  rows_.block = std::clamp<int64_t>(checksum_block / row_bytes, 1, rows_.count[0]);
  bool by_class = config_.data.name == "image_folder";
  if (options_.order == "shuffled" || (options_.order == "auto" && by_class))
    order_.emplace(rows_.count[0], config_.seed);
  std::vector<fs::path> files;
  for (const Dataset* split : splits_)
    for (fs::path& file : split->files()) files.push_back(std::move(file));
  std::error_code error;
  for (const fs::path& file : files)
    if (fs::equivalent(target_, file, error))
      fail(Category::config, "--to: {} is one of the files that are read; write somewhere else",
           target_.string());
  return fingerprint_of(
      config_,
      order_ ? fmt::format("--order: shuffled by seed {}\n", config_.seed) : "--order: source\n",
      fmt::format("{} {}", fmt::join(rows_.count, " "), to_text(spec)), files);
}

// Resumes where the journal says, or writes the skeleton and returns false.
bool Hdf5Conversion::start_or_resume(const ConversionFingerprint& source) {
  const SampleSpec& spec = splits_[0]->spec();
  int64_t row_bytes = skeleton_row_bytes(spec, rows_), found = file_->bytes();
  // The journal of a file that was removed or truncated since is of no use.
  bool resumed = journal_.resume(
      source, partial_, options_.overwrite || found == 0,
      [&](const auto& done) { return done[0] >= 0 && done[0] <= blocks() && found > row_bytes; });
  if (!resumed) {
    // A journal of other contents must not outlive them. Space is reserved up front: a full disk
    // shows now, not after hours.
    journal_.remove();
    file_->reserve(row_bytes + max_skeleton_bytes);
    write_hdf5_skeleton(partial_, spec, rows_);
  }
  skeleton_ = read_hdf5_skeleton(partial_, spec, rows_.splits());
  file_->reserve(skeleton_.bytes);
  next_ = journal_.done();
  journal_.save(*file_);
  options_.on_progress(progress());
  return resumed;
}

std::optional<int64_t> Hdf5Conversion::next_block() {
  std::lock_guard lock(mutex_);
  if (next_ == blocks()) return {};
  stop_if_asked(options_, progress());
  return next_++;
}

void Hdf5Conversion::copy_block(int64_t block, SampleBuffer& buffer) {
  size_t s = 0;
  int64_t index = block;
  while (index >= rows_.blocks(s)) index -= rows_.blocks(s++);
  int64_t first = index * rows_.block;
  std::vector<int64_t> samples = sequence(first, std::min(rows_.block, rows_.count[s] - first));
  if (s == 0 && order_)
    for (int64_t& sample : samples) sample = order_->index(0, sample);
  buffer.read(*splits_[s], samples);
  for (size_t c : {0, 1}) {
    const std::vector<std::byte>& rows = buffer.columns[c];
    const SkeletonColumn& offsets = skeleton_.columns[s][c];
    auto row_bytes = static_cast<int64_t>(splits_[s]->spec().columns[c].row_bytes());
    uint64_t checksum = hash64(rows.data(), rows.size());
    file_->write(offsets.rows_offset + first * row_bytes, rows);
    file_->write(offsets.checksums_offset + index * static_cast<int64_t>(sizeof(checksum)),
                 std::as_bytes(std::span(&checksum, 1)));
  }
  finish_block(block);
}

// Advances the journal over all blocks finished without a gap.
void Hdf5Conversion::finish_block(int64_t block) {
  std::lock_guard lock(mutex_);
  finished_ahead_.insert(block);
  while (finished_ahead_.erase(journal_.done()) > 0) ++journal_.done();
  journal_.save_if_due(*file_, options_.journal_seconds);
  options_.on_progress(progress());
}

}  // namespace

ConvertResult convert_to_hdf5(const RunConfig& config, const ConvertOptions& options) {
  return Hdf5Conversion(config, options).run();
}

}  // namespace spire
