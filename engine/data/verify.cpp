#include <spire/base/error.h>
#include <spire/base/hash.h>
#include <spire/data/verify.h>

#include <algorithm>
#include <numeric>

namespace spire {
namespace {

constexpr int64_t usual_bytes = 1 << 20;  // of rows that are read together

// Reads one half in its order. Broken rows that the dataset leaves out itself are in its own
// account; others show as errors of read().
class HalfVerifier {
 public:
  HalfVerifier(const char* name, const Dataset& data, const VerifyOptions& options,
               WorkProgress& progress)
      : name_(name), data_(data), options_(options), progress_(progress) {}

  VerifiedHalf run() {
    note_as_wrong([&] { data_.verify_files(); });
    note_as_wrong([&] { checksums_ = data_.checksums(); });
    auto row_bytes = static_cast<int64_t>(data_.spec().columns[0].row_bytes());
    int64_t together =
        checksums_ ? checksums_->rows : std::max<int64_t>(1, usual_bytes / row_bytes);
    for (int64_t first = 0; first < data_.count() && !nothing_is_good(); first += together) {
      if (options_.stop != nullptr && options_.stop->load())
        fail(Category::interrupted, "stopped by a signal at row {} of {}", progress_.done,
             progress_.total);
      int64_t rows = std::min(together, data_.count() - first);
      if (read(first, rows)) {
        compare(first / together, rows);
      } else {
        for (int64_t row = first; row < first + rows && !nothing_is_good(); ++row) read_one(row);
      }
      progress_.done += rows;
      options_.on_progress(progress_);
    }
    return finish();
  }

 private:
  bool nothing_is_good() const { return data_.skipped() >= data_.count(); }

  void note(const std::string& problem) {
    if (result_.problems.size() < most_problems) result_.problems.push_back(problem);
  }

  // What the files say of themselves is wrong where `check` throws Error(data).
  template <typename Check>
  void note_as_wrong(const Check& check) {
    try {
      check();
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      ++result_.wrong;
      note(error.what());
    }
  }

  // Throws Error(data) for a row that cannot be used.
  void read_rows(int64_t first, int64_t rows) {
    std::vector<int64_t> samples(static_cast<size_t>(rows));
    std::iota(samples.begin(), samples.end(), first);
    const std::vector<Column>& columns = data_.spec().columns;
    memory_.resize(columns.size());
    std::vector<std::byte*> pointers;
    for (size_t c = 0; c < columns.size(); ++c) {
      memory_[c].resize(samples.size() * columns[c].row_bytes());
      pointers.push_back(memory_[c].data());
    }
    data_.read(samples, 0, pointers);
  }

  bool read(int64_t first, int64_t rows) {
    try {
      read_rows(first, rows);
      return true;
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      return false;
    }
  }

  void read_one(int64_t row) {
    try {
      read_rows(row, 1);
    } catch (const Error& error) {
      if (error.category() != Category::data) throw;
      if (nothing_is_good()) return;  // the dataset has it in its own account
      ++result_.bad;
      note(error.what());
    }
  }

  void compare(int64_t block, int64_t rows) {
    if (!checksums_) return;
    for (size_t c = 0; c < memory_.size(); ++c) {
      ++result_.checksums;
      uint64_t found = hash64(memory_[c].data(), memory_[c].size());
      uint64_t expected = checksums_->blocks[c][static_cast<size_t>(block)];
      if (found == expected) continue;
      ++result_.wrong;
      int64_t first = block * checksums_->rows;
      note(fmt::format("{}: {} {}, rows {} to {}: their checksum is {}, the file says {}",
                       data_.files().front().string(), name_, data_.spec().columns[c].name, first,
                       first + rows - 1, hex(found), hex(expected)));
    }
  }

  VerifiedHalf finish() {
    result_.rows = data_.count();
    result_.bad += data_.skipped();
    std::vector<std::string> problems = data_.problems();
    problems.insert(problems.end(), result_.problems.begin(), result_.problems.end());
    problems.resize(std::min(problems.size(), most_problems));
    result_.problems = std::move(problems);
    return std::move(result_);
  }

  const char* name_;
  const Dataset& data_;
  const VerifyOptions& options_;
  WorkProgress& progress_;
  std::optional<RowChecksums> checksums_;
  std::vector<std::vector<std::byte>> memory_;
  VerifiedHalf result_;
};

}  // namespace

VerifyResult verify_dataset(const RunConfig& config, const VerifyOptions& options) {
  DataConfig data = config.data;
  data.on_error = "skip";  // so that all broken ones are found, not the first
  DatasetPair pair = open_dataset(data, {.seed = config.seed, .stored = true});
  WorkProgress progress = {0, pair.train->count() + pair.test->count()};
  options.on_progress(progress);
  VerifiedHalf train = HalfVerifier("train", *pair.train, options, progress).run();
  VerifiedHalf test = HalfVerifier("test", *pair.test, options, progress).run();
  return {std::move(train), std::move(test)};
}

}  // namespace spire
