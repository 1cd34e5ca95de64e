// Blocks of rows are read by some threads and written to their places in the file's frame.
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
#include "engine/data/convert/convert.h"
#include "engine/data/convert/hdf5_skeleton.h"
#include "engine/data/sampler.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t block_bytes = 256 << 10;    // of the input's rows that share a checksum
constexpr int64_t max_frame_bytes = 1 << 20;  // of the file, beside rows, names and attributes

fs::path file_for(const fs::path& to) {
  bool file = to.extension() == ".h5" || to.extension() == ".hdf5";
  return file ? to : to / "data.h5";
}

fs::path with_suffix(fs::path path, const char* suffix) {
  path += suffix;
  return path;
}

// A block is a range of rows of one half; blocks of the training half come first.
class Hdf5Conversion {
 public:
  Hdf5Conversion(const RunConfig& config, const ConvertOptions& options)
      : config_(config),
        options_(options),
        target_(file_for(options.to)),
        partial_(with_suffix(target_, ".partial")),
        journal_path_(with_suffix(target_, ".journal")) {}

  ConvertResult run() {
    prepare_target();
    open_source();
    PreallocatedFile file(partial_);
    file_ = &file;
    begin();
    work();
    if (error_) std::rethrow_exception(error_);
    file.sync();
    require_replaceable(target_, Category::config);
    file.take_mode_of(target_);
    rename_durably(partial_, target_);
    fs::remove(journal_path_);
    return result();
  }

 private:
  void prepare_target();
  void open_source();
  void begin();
  void work();
  void work_as_one();
  std::optional<int64_t> next_block();
  void copy_block(int64_t block);
  void finish_block(int64_t block);
  void keep_journal();
  ConvertResult result() const;

  const Dataset& half(size_t h) const { return h == 0 ? *source_.train : *source_.test; }
  int64_t blocks() const { return rows_.blocks(0) + rows_.blocks(1); }
  int64_t rows_in(int64_t blocks) const;
  WorkProgress progress() const { return {rows_in(journal_.done[0]), rows_in(blocks())}; }

  const RunConfig& config_;
  const ConvertOptions& options_;
  fs::path target_, partial_, journal_path_;
  DatasetPair source_;
  std::optional<Sampler> order_;  // of the training rows; none: as they are
  SkeletonRows rows_;
  Hdf5Skeleton frame_;
  const PreallocatedFile* file_ = nullptr;
  bool resumed_ = false;

  std::mutex mutex_;           // guards what follows
  ConversionJournal journal_;  // done: blocks without a gap
  std::set<int64_t> beyond_;   // finished ones behind a gap
  int64_t next_ = 0;
  std::exception_ptr error_;
  std::chrono::steady_clock::time_point kept_;
};

void Hdf5Conversion::prepare_target() {
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
  rows_.count = {half(0).count(), half(1).count()};
  auto row_bytes = static_cast<int64_t>(half(0).spec().columns[0].row_bytes());
  rows_.block = std::clamp<int64_t>(block_bytes / row_bytes, 1, rows_.count[0]);
  bool by_class = config_.data.name == "image_folder";
  if (options_.order == "shuffled" || (options_.order == "auto" && by_class))
    order_.emplace(rows_.count[0], config_.seed);
  std::string order =
      order_ ? fmt::format("--order: shuffled by seed {}\n", config_.seed) : "--order: source\n";
  std::vector<fs::path> files = half(0).files();
  for (fs::path& file : half(1).files()) files.push_back(std::move(file));
  require_other_files(target_, files);
  journal_.source = {
      conversion_config(config_, order),
      fmt::format("{} {} {}", rows_.count[0], rows_.count[1], to_text(half(0).spec())),
      checksum_of_files(files)};
  journal_.done = {0};
}

// Goes on where the journal says, or makes the frame.
void Hdf5Conversion::begin() {
  const SampleSpec& spec = half(0).spec();
  std::optional<ConversionJournal> before = read_journal(journal_path_);
  bool usable = before && before->done.size() == 1 && before->done[0] >= 0 &&
                before->done[0] <= blocks() && file_->bytes() > frame_row_bytes(spec, rows_);
  if (before && file_->bytes() > 0 && !(options_.overwrite && before->source != journal_.source))
    require_same_source(*before, journal_.source, partial_);
  resumed_ = usable && before->source == journal_.source;
  if (resumed_) {
    journal_.done = before->done;
  } else {
    fs::remove(journal_path_);
    file_->reserve(frame_row_bytes(spec, rows_) + max_frame_bytes);
    make_hdf5_frame(partial_, spec, rows_);
  }
  frame_ = read_hdf5_frame(partial_, spec);
  file_->reserve(frame_.bytes);
  next_ = journal_.done[0];
  keep_journal();
  options_.on_progress(progress());
}

int64_t Hdf5Conversion::rows_in(int64_t blocks) const {
  int64_t train = std::min(blocks * rows_.block, rows_.count[0]);
  int64_t test = (blocks - rows_.blocks(0)) * rows_.block;
  return train + std::clamp<int64_t>(test, 0, rows_.count[1]);
}

void Hdf5Conversion::work() {
  std::vector<std::jthread> others;
  for (int64_t i = 1; i < std::min(config_.data.workers, blocks()); ++i)
    others.push_back(start_thread({fmt::format("convert {}", i), {}}, [this] { work_as_one(); }));
  work_as_one();
  for (std::jthread& other : others) other.join();
  keep_journal();
}

void Hdf5Conversion::work_as_one() {
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

std::optional<int64_t> Hdf5Conversion::next_block() {
  std::lock_guard lock(mutex_);
  if (error_ || next_ == blocks()) return {};
  stop_if_asked(options_, progress());
  return next_++;
}

void Hdf5Conversion::copy_block(int64_t block) {
  size_t h = block < rows_.blocks(0) ? 0 : 1;
  int64_t index = h == 0 ? block : block - rows_.blocks(0), first = index * rows_.block;
  std::vector<int64_t> samples;
  for (int64_t row = first; row < std::min(first + rows_.block, rows_.count[h]); ++row)
    samples.push_back(h == 0 && order_ ? order_->index(0, row) : row);
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> columns;
  for (const Column& column : half(h).spec().columns)
    columns.push_back(memory.emplace_back(samples.size() * column.row_bytes()).data());
  half(h).read(samples, 0, columns);
  for (size_t c : {0, 1}) {
    const SkeletonColumn& place = frame_.columns[h][c];
    auto row_bytes = static_cast<int64_t>(half(h).spec().columns[c].row_bytes());
    uint64_t checksum = hash64(memory[c].data(), memory[c].size());
    file_->write(place.rows_at + first * row_bytes, memory[c]);
    file_->write(place.checksums_at + index * static_cast<int64_t>(sizeof(checksum)),
                 std::as_bytes(std::span(&checksum, 1)));
  }
}

void Hdf5Conversion::finish_block(int64_t block) {
  std::lock_guard lock(mutex_);
  beyond_.insert(block);
  int64_t& done = journal_.done[0];
  for (; !beyond_.empty() && *beyond_.begin() == done; ++done) beyond_.erase(beyond_.begin());
  std::chrono::duration<double> passed = std::chrono::steady_clock::now() - kept_;
  if (passed.count() >= options_.journal_seconds) keep_journal();
  options_.on_progress(progress());
}

// Rows first: the journal says nothing that is not on the disk.
void Hdf5Conversion::keep_journal() {
  file_->sync();
  write_journal(journal_path_, journal_);
  kept_ = std::chrono::steady_clock::now();
}

ConvertResult Hdf5Conversion::result() const {
  return {
      .path = target_,
      .format = "hdf5",
      .train = rows_.count[0],
      .test = rows_.count[1],
      .bytes = frame_.bytes,
      .resumed = resumed_,
      .skipped = half(0).skipped() + half(1).skipped(),
      .first_problem = half(0).skipped() > 0 ? half(0).first_problem() : half(1).first_problem()};
}

}  // namespace

ConvertResult convert_to_hdf5(const RunConfig& config, const ConvertOptions& options) {
  return Hdf5Conversion(config, options).run();
}

}  // namespace spire::inline data
