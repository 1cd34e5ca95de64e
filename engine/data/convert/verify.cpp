#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <spire/dataset_tools.h>
#include <spire/run_config.h>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/thread.h"
#include "engine/data/convert/conversion.h"
#include "engine/data/dataset.h"
#include "engine/data/input_file.h"

namespace spire {
namespace {

constexpr int64_t usual_bytes = 1 << 20;  // of rows read together

// Calls `body` and returns the message of a defect of the data; nullopt: there is none. A file that
// changes meanwhile is neither good nor bad: it ends the verification.
template <typename Body>
std::optional<std::string> defect_in(const Body& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    bool changed = dynamic_cast<const FileChanged*>(&error) != nullptr;
    if (error.category() != Category::data || changed) throw;
    return error.what();
  }
}

// Reads one split, blocks of rows on several threads. The dataset counts the corrupt rows that it
// skips itself; others show as errors of read().
class SplitVerifier {
 public:
  SplitVerifier(const char* name, const Dataset& data, const VerifyOptions& options,
                WorkProgress& progress)
      : name_(name), data_(data), options_(options), progress_(progress) {}

  SplitReport run() {
    if (auto defect = defect_in([&] { data_.verify_files(); })) note_wrong(-1, *defect);
    if (auto defect = defect_in([&] { checksums_ = data_.checksums(); })) note_wrong(-1, *defect);
    auto row_bytes = static_cast<int64_t>(data_.spec().columns[0].row_bytes());
    block_rows_ = checksums_ ? checksums_->rows : std::max<int64_t>(1, usual_bytes / row_bytes);
    int64_t threads = options_.threads > 0 ? options_.threads : std::ssize(allowed_cores());
    std::exception_ptr failure = run_blocks(
        threads, "verify", [&] { return next(); },
        [&](int64_t first, SampleBuffer& buffer) { verify_block(first, buffer); });
    if (failure) std::rethrow_exception(failure);
    return finish();
  }

 private:
  // Returns the first row of the next block; nullopt: none is left.
  std::optional<int64_t> next() {
    std::lock_guard lock(mutex_);
    if (next_ >= data_.count() || none_good_) return {};
    if (options_.stop != nullptr && options_.stop->load())
      fail(Category::interrupted, "stopped by a signal at row {} of {}", progress_.done,
           progress_.total);
    return std::exchange(next_, next_ + block_rows_);
  }

  // Reads rows together; where that fails, one by one, to find the bad ones.
  void verify_block(int64_t first, SampleBuffer& buffer) {
    int64_t rows = std::min(block_rows_, data_.count() - first);
    if (!defect_in([&] { buffer.read(data_, sequence(first, rows)); })) {
      compare(first, rows, buffer);
    } else {
      for (int64_t row = first; row < first + rows && !none_good_; ++row) verify_row(row, buffer);
    }
    std::lock_guard lock(mutex_);
    progress_.done += rows;
    options_.on_progress(progress_);
  }

  void verify_row(int64_t row, SampleBuffer& buffer) {
    std::optional<std::string> defect = defect_in([&] { buffer.read(data_, sequence(row, 1)); });
    if (!defect) return;
    std::lock_guard lock(mutex_);
    none_good_ = none_good_ || data_.skipped() >= data_.count();
    if (none_good_) return;  // the dataset counts them
    ++result_.bad;
    note(row, *defect);
  }

  // Compares the checksums of a block with those in the file.
  void compare(int64_t first, int64_t rows, const SampleBuffer& buffer) {
    if (!checksums_) return;
    for (size_t c = 0; c < buffer.columns.size(); ++c) {
      uint64_t found = hash64(buffer.columns[c].data(), buffer.columns[c].size());
      uint64_t expected = checksums_->blocks[c][static_cast<size_t>(first / block_rows_)];
      std::lock_guard lock(mutex_);
      ++result_.checksums;
      if (found == expected) continue;
      note_wrong(first,
                 fmt::format("{}: {} {}, rows {} to {}: their checksum is {}, the file says {}",
                             data_.files().front().string(), name_, data_.spec().columns[c].name,
                             first, first + rows - 1, hex(found), hex(expected)));
    }
  }

  // Counts a wrong checksum of the rows or of a file.
  void note_wrong(int64_t row, const std::string& problem) {
    ++result_.wrong;
    note(row, problem);
  }

  // Keeps the problems of the lowest rows, so that the report does not depend on threads.
  void note(int64_t row, const std::string& problem) {
    problems_.emplace(row, problem);
    if (problems_.size() > max_problems) problems_.erase(std::prev(problems_.end()));
  }

  SplitReport finish() {
    result_.rows = data_.count();
    result_.bad += data_.skipped();
    result_.none_good = none_good_;
    result_.problems = data_.problems();
    for (const auto& [row, problem] : problems_) result_.problems.push_back(problem);
    result_.problems.resize(std::min(result_.problems.size(), max_problems));
    return std::move(result_);
  }

  const char* name_;
  const Dataset& data_;
  const VerifyOptions& options_;
  std::optional<RowChecksums> checksums_;
  int64_t block_rows_ = 1;  // of a block, which has one checksum

  std::atomic<bool> none_good_ = false;

  std::mutex mutex_;  // guards the members below while threads read
  WorkProgress& progress_;
  int64_t next_ = 0;
  std::multimap<int64_t, std::string> problems_;  // by row
  SplitReport result_;
};

}  // namespace

VerifyResult verify_dataset(const RunConfig& config, const VerifyOptions& options) {
  DataConfig data = config.data;
  data.on_error =
      DataConfig::OnError::skip;  // so that all corrupt samples are found, not the first
  DatasetPair pair = open_dataset(data, {.seed = config.seed, .as_stored = true});
  int64_t in_val = pair.val ? pair.val->count() : 0;
  WorkProgress progress = {0, pair.train->count() + pair.test->count() + in_val};
  options.on_progress(progress);
  auto verified = [&](const char* name, const Dataset& split) {
    return SplitVerifier(name, split, options, progress).run();
  };
  return {.train = verified("train", *pair.train),
          .test = verified("test", *pair.test),
          .val = pair.val ? verified("val", *pair.val) : SplitReport()};
}

}  // namespace spire
