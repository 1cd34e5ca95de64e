// Conversion to one HDF5 file: several threads read blocks of rows and write them to their offsets
// in the file's skeleton.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <spire/error.h>

#include "engine/base/hash.h"
#include "engine/base/read_file.h"
#include "engine/base/thread.h"
#include "engine/base/write_file.h"
#include "engine/data/convert/conversion_journal.h"
#include "engine/data/convert/hdf5_skeleton.h"
#include "engine/data/sampler.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t block_bytes = 256 << 10;       // of the input's rows with one checksum
constexpr int64_t max_skeleton_bytes = 1 << 20;  // of the file beside rows, names and attributes

fs::path file_for(const fs::path& to) {
  bool file = to.extension() == ".h5" || to.extension() == ".hdf5";
  return file ? to : to / "data.h5";
}

fs::path with_suffix(fs::path path, const char* suffix) {
  path += suffix;
  return path;
}

// One conversion. A block is a range of rows of one split; training blocks come first.
// Blocks finish in any order; the journal counts those finished without a gap.
class Hdf5Conversion {
 public:
  Hdf5Conversion(const RunConfig& config, const ConvertOptions& options)
      : config_(config),
        options_(options),
        target_(file_for(options.to)),
        partial_(with_suffix(target_, ".partial")),
        journal_path_(with_suffix(target_, ".journal")) {}

  ConvertResult run() {
    check_target();
    open_source();
    PreallocatedFile file(partial_);
    file_ = &file;
    start_or_resume();
    run_workers();
    if (error_) std::rethrow_exception(error_);
    // Complete: the partial file takes the target's name.
    file.sync();
    require_replaceable(target_, Category::config);
    file.take_mode_of(target_);
    rename_durably(partial_, target_);
    fs::remove(journal_path_);
    return result();
  }

 private:
  void check_target();
  void open_source();
  void start_or_resume();
  void run_workers();
  void copy_blocks();
  std::optional<int64_t> next_block();
  void copy_block(int64_t block);
  void finish_block(int64_t block);
  void save_journal();
  ConvertResult result() const;

  const Dataset& split(size_t s) const { return s == 0 ? *source_.train : *source_.test; }
  int64_t blocks() const { return rows_.blocks(0) + rows_.blocks(1); }
  int64_t rows_in(int64_t blocks) const;
  WorkProgress progress() const { return {rows_in(journal_.done[0]), rows_in(blocks())}; }

  const RunConfig& config_;
  const ConvertOptions& options_;
  fs::path target_, partial_, journal_path_;
  DatasetPair source_;
  std::optional<Sampler> order_;  // of the training rows; none: source order
  SkeletonRows rows_;
  Hdf5Skeleton skeleton_;
  const PreallocatedFile* file_ = nullptr;
  bool resumed_ = false;

  std::mutex mutex_;                  // guards the members below
  ConversionJournal journal_;         // done[0]: blocks finished without a gap
  std::set<int64_t> finished_ahead_;  // finished blocks behind a gap
  int64_t next_ = 0;
  std::exception_ptr error_;
  std::chrono::steady_clock::time_point saved_at_;
};

void Hdf5Conversion::check_target() {
  require_replaceable(target_, Category::config);
  if (is_there(target_) && !options_.overwrite)
    fail(Category::config, "{}: exists already; choose another --to, or add --overwrite",
         target_.string());
  std::error_code error;
  if (target_.has_parent_path()) fs::create_directories(target_.parent_path(), error);
  if (error)
    fail(Category::config, "--to {}: cannot create the folder: {}", target_.string(),
         error.message());
}

void Hdf5Conversion::open_source() {
  source_ = open_dataset(config_.data, {.seed = config_.seed, .stored = true});
  rows_.count = {split(0).count(), split(1).count()};
  auto row_bytes = static_cast<int64_t>(split(0).spec().columns[0].row_bytes());
  rows_.block = std::clamp<int64_t>(block_bytes / row_bytes, 1, rows_.count[0]);
  bool by_class = config_.data.name == "image_folder";
  if (options_.order == "shuffled" || (options_.order == "auto" && by_class))
    order_.emplace(rows_.count[0], config_.seed);
  std::string order =
      order_ ? fmt::format("--order: shuffled by seed {}\n", config_.seed) : "--order: source\n";
  std::vector<fs::path> files = split(0).files();
  for (fs::path& file : split(1).files()) files.push_back(std::move(file));
  refuse_overwriting_input(target_, files);
  journal_.source = {
      conversion_config(config_, order),
      fmt::format("{} {} {}", rows_.count[0], rows_.count[1], to_text(split(0).spec())),
      checksum_of_files(files)};
  journal_.done = {0};
}

// Resumes where the journal says, or writes the skeleton.
void Hdf5Conversion::start_or_resume() {
  const SampleSpec& spec = split(0).spec();
  std::optional<ConversionJournal> before = read_journal(journal_path_);
  // The journal of a file that was truncated since is of no use.
  bool usable = before && before->done.size() == 1 && before->done[0] >= 0 &&
                before->done[0] <= blocks() && file_->bytes() > skeleton_row_bytes(spec, rows_);
  if (before && file_->bytes() > 0 && !(options_.overwrite && before->source != journal_.source))
    require_same_fingerprint(*before, journal_.source, partial_);
  resumed_ = usable && before->source == journal_.source;
  if (resumed_) {
    journal_.done = before->done;
  } else {
    // A journal of other contents must not outlive them. Space is reserved up front: a full disk
    // shows now, not after hours.
    fs::remove(journal_path_);
    file_->reserve(skeleton_row_bytes(spec, rows_) + max_skeleton_bytes);
    write_hdf5_skeleton(partial_, spec, rows_);
  }
  skeleton_ = read_hdf5_skeleton(partial_, spec);
  file_->reserve(skeleton_.bytes);
  next_ = journal_.done[0];
  save_journal();
  options_.on_progress(progress());
}

// Returns the rows of the first `blocks` blocks of both splits.
int64_t Hdf5Conversion::rows_in(int64_t blocks) const {
  int64_t train = std::min(blocks * rows_.block, rows_.count[0]);
  int64_t test = (blocks - rows_.blocks(0)) * rows_.block;
  return train + std::clamp<int64_t>(test, 0, rows_.count[1]);
}

void Hdf5Conversion::run_workers() {
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < std::min(config_.data.workers, blocks()); ++i)
    others.push_back(start_thread({fmt::format("convert {}", i), {}}, [this] { copy_blocks(); }));
  copy_blocks();
  for (std::jthread& other : others) other.join();
  save_journal();
}

void Hdf5Conversion::copy_blocks() {
  try {
    while (std::optional<int64_t> block = next_block()) {
      copy_block(*block);
      finish_block(*block);
    }
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

// Returns the next block to copy; nullopt: none is left, or a thread failed.
std::optional<int64_t> Hdf5Conversion::next_block() {
  std::lock_guard lock(mutex_);
  if (error_ || next_ == blocks()) return {};
  stop_if_asked(options_, progress());
  return next_++;
}

// Reads the rows of a block and writes them with their checksums.
void Hdf5Conversion::copy_block(int64_t block) {
  size_t s = block < rows_.blocks(0) ? 0 : 1;
  int64_t index = s == 0 ? block : block - rows_.blocks(0), first = index * rows_.block;
  std::vector<int64_t> samples;
  for (int64_t row = first; row < std::min(first + rows_.block, rows_.count[s]); ++row)
    samples.push_back(s == 0 && order_ ? order_->index(0, row) : row);
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> columns;
  for (const Column& column : split(s).spec().columns)
    columns.push_back(memory.emplace_back(samples.size() * column.row_bytes()).data());
  split(s).read(samples, 0, columns);
  for (size_t c : {0, 1}) {
    const SkeletonColumn& offsets = skeleton_.columns[s][c];
    auto row_bytes = static_cast<int64_t>(split(s).spec().columns[c].row_bytes());
    uint64_t checksum = hash64(memory[c].data(), memory[c].size());
    file_->write(offsets.rows_offset + first * row_bytes, memory[c]);
    file_->write(offsets.checksums_offset + index * static_cast<int64_t>(sizeof(checksum)),
                 std::as_bytes(std::span(&checksum, 1)));
  }
}

// Advances the journal over all blocks finished without a gap.
void Hdf5Conversion::finish_block(int64_t block) {
  std::lock_guard lock(mutex_);
  finished_ahead_.insert(block);
  int64_t& done = journal_.done[0];
  for (; !finished_ahead_.empty() && *finished_ahead_.begin() == done; ++done)
    finished_ahead_.erase(finished_ahead_.begin());
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - saved_at_;
  if (passed.count() >= options_.journal_seconds) save_journal();
  options_.on_progress(progress());
}

// Syncs rows before the journal, which must not run ahead of the disk.
void Hdf5Conversion::save_journal() {
  file_->sync();
  write_journal(journal_path_, journal_);
  saved_at_ = std::chrono::steady_clock::now();
}

ConvertResult Hdf5Conversion::result() const {
  return {.path = target_,
          .format = "hdf5",
          .train = rows_.count[0],
          .test = rows_.count[1],
          .bytes = skeleton_.bytes,
          .resumed = resumed_,
          .skipped = split(0).skipped() + split(1).skipped(),
          .first_problem =
              split(0).skipped() > 0 ? split(0).first_problem() : split(1).first_problem()};
}

}  // namespace

ConvertResult convert_to_hdf5(const RunConfig& config, const ConvertOptions& options) {
  return Hdf5Conversion(config, options).run();
}

}  // namespace spire::inline data
