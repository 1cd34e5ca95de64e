#include "engine/data/convert/verify.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include <spire/error.h>

#include "engine/base/hash.h"
#include "engine/base/thread.h"
#include "engine/data/change_detection.h"

namespace spire::inline data {
namespace {

constexpr int64_t usual_bytes = 1 << 20;  // of rows read together

// Returns whether the error is a defect of the data. A file that changes meanwhile is neither good
// nor bad: it ends the verification.
bool is_data_defect(const Error& error) {
  return error.category() == Category::data && dynamic_cast<const FileChanged*>(&error) == nullptr;
}

// Reads one split, blocks of rows on several threads. The dataset counts the corrupt rows that it
// skips itself; others show as errors of read().
class SplitVerifier {
 public:
  SplitVerifier(const char* name, const Dataset& data, const VerifyOptions& options,
                WorkProgress& progress)
      : name_(name), data_(data), options_(options), progress_(progress) {}

  SplitReport run() {
    note_as_wrong([&] { data_.verify_files(); });
    note_as_wrong([&] { checksums_ = data_.checksums(); });
    auto row_bytes = static_cast<int64_t>(data_.spec().columns[0].row_bytes());
    block_rows_ = checksums_ ? checksums_->rows : std::max<int64_t>(1, usual_bytes / row_bytes);
    int threads = options_.threads > 0 ? options_.threads : static_cast<int>(cores_.size());
    {
      std::vector<std::jthread> readers;
      for (int i = 0; i < threads; ++i)
        readers.push_back(start_thread({fmt::format("verify {}", i), cores_}, [this] { read(); }));
    }
    if (failure_) std::rethrow_exception(failure_);
    return finish();
  }

 private:
  using Memory = std::vector<std::vector<std::byte>>;  // of a thread: rows by column

  void read() {
    try {
      Memory memory;
      while (auto first = next()) {
        int64_t rows = std::min(block_rows_, data_.count() - *first);
        read_block(*first, rows, memory);
        std::lock_guard lock(mutex_);
        progress_.done += rows;
        options_.on_progress(progress_);
      }
    } catch (...) {
      std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  // Returns the first row of the next block; nullopt: none is left, or a thread failed.
  std::optional<int64_t> next() {
    std::lock_guard lock(mutex_);
    if (failure_ || next_ >= data_.count() || none_good_) return {};
    if (options_.stop != nullptr && options_.stop->load())
      fail(Category::interrupted, "stopped by a signal at row {} of {}", progress_.done,
           progress_.total);
    return std::exchange(next_, next_ + block_rows_);
  }

  // Reads rows together; where that fails, one by one, to find the bad ones.
  void read_block(int64_t first, int64_t rows, Memory& memory) {
    if (is_good(first, rows, memory)) return compare(first / block_rows_, rows, memory);
    for (int64_t row = first; row < first + rows && !none_good_; ++row) read_one(row, memory);
  }

  // Counts an Error(data) of `check` as a wrong checksum of the files.
  template <typename Check>
  void note_as_wrong(const Check& check) {
    try {
      check();
    } catch (const Error& error) {
      if (!is_data_defect(error)) throw;
      ++result_.wrong;
      note(-1, error.what());
    }
  }

  // Throws Error(data) for a row that cannot be used.
  void read_rows(int64_t first, int64_t rows, Memory& memory) const {
    std::vector<int64_t> samples(static_cast<size_t>(rows));
    std::iota(samples.begin(), samples.end(), first);
    const std::vector<Column>& columns = data_.spec().columns;
    memory.resize(columns.size());
    std::vector<std::byte*> pointers;
    for (size_t c = 0; c < columns.size(); ++c) {
      memory[c].resize(samples.size() * columns[c].row_bytes());
      pointers.push_back(memory[c].data());
    }
    data_.read(samples, 0, pointers);
  }

  bool is_good(int64_t first, int64_t rows, Memory& memory) const {
    try {
      read_rows(first, rows, memory);
      return true;
    } catch (const Error& error) {
      if (!is_data_defect(error)) throw;
      return false;
    }
  }

  void read_one(int64_t row, Memory& memory) {
    try {
      read_rows(row, 1, memory);
    } catch (const Error& error) {
      if (!is_data_defect(error)) throw;
      std::lock_guard lock(mutex_);
      none_good_ = none_good_ || data_.skipped() >= data_.count();
      if (none_good_) return;  // the dataset counts them
      ++result_.bad;
      note(row, error.what());
    }
  }

  // Compares the checksums of a block with those in the file.
  void compare(int64_t block, int64_t rows, const Memory& memory) {
    if (!checksums_) return;
    for (size_t c = 0; c < memory.size(); ++c) {
      uint64_t found = hash64(memory[c].data(), memory[c].size());
      uint64_t expected = checksums_->blocks[c][static_cast<size_t>(block)];
      int64_t first = block * checksums_->rows;
      std::lock_guard lock(mutex_);
      ++result_.checksums;
      if (found == expected) continue;
      ++result_.wrong;
      note(first, fmt::format("{}: {} {}, rows {} to {}: their checksum is {}, the file says {}",
                              data_.files().front().string(), name_, data_.spec().columns[c].name,
                              first, first + rows - 1, hex(found), hex(expected)));
    }
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
  const std::vector<int> cores_ = allowed_cores();
  std::optional<RowChecksums> checksums_;
  int64_t block_rows_ = 1;  // of a block, which has one checksum

  std::atomic<bool> none_good_ = false;

  std::mutex mutex_;  // guards the members below while threads read
  WorkProgress& progress_;
  int64_t next_ = 0;
  std::multimap<int64_t, std::string> problems_;  // by row
  SplitReport result_;
  std::exception_ptr failure_;
};

}  // namespace

VerifyResult verify_dataset(const RunConfig& config, const VerifyOptions& options) {
  DataConfig data = config.data;
  data.on_error =
      DataConfig::OnError::skip;  // so that all corrupt samples are found, not the first
  DatasetPair pair = open_dataset(data, {.seed = config.seed, .stored = true});
  WorkProgress progress = {0, pair.train->count() + pair.test->count()};
  options.on_progress(progress);
  SplitReport train = SplitVerifier("train", *pair.train, options, progress).run();
  SplitReport test = SplitVerifier("test", *pair.test, options, progress).run();
  return {std::move(train), std::move(test)};
}

}  // namespace spire::inline data
