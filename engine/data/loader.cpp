#include "engine/data/loader.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/base/thread.h"
#include "engine/data/label_survey.h"
#include "engine/device/device_memory.h"

namespace spire {
namespace {

int64_t at_least(int64_t least, int64_t value, const char* key) {
  if (value < least) fail(Category::config, "{}: {}, expected {} or more", key, value, least);
  return value;
}

int64_t global_batch_of(const LoaderOptions& options) {
  int64_t global = 0;
  at_least(1, options.batch_size, "batch_size");
  at_least(1, options.towers, "towers");
  if (__builtin_mul_overflow(options.batch_size, options.towers, &global) ||
      global > std::numeric_limits<int32_t>::max())
    fail(Category::config, "the global batch {} x {} is larger than 2^31 - 1; lower batch_size",
         options.towers, options.batch_size);
  if (options.global_batch == 0) return global;
  require(options.global_batch > global - options.batch_size && options.global_batch <= global,
          "BatchLoader: a global batch of {} for {} towers of {}", options.global_batch,
          options.towers, options.batch_size);
  return options.global_batch;
}

int64_t towers_read(const LoaderOptions& options) {
  int64_t count = options.tower_count == 0 ? options.towers : options.tower_count;
  require(options.first_tower >= 0 && count >= 1 && count <= options.towers &&
              options.first_tower <= options.towers - count,
          "BatchLoader: {} towers from tower {} on, of {}", count, options.first_tower,
          options.towers);
  return count;
}

int64_t steps_of(int64_t count, int64_t global_batch, bool drop_last) {
  if (drop_last && count < global_batch)
    fail(Category::config,
         "data.last_batch: drop leaves no batch: the dataset has {} samples, fewer than one global "
         "batch of {}; lower batch_size, or use weighted",
         count, global_batch);
  return drop_last ? count / global_batch : (count + global_batch - 1) / global_batch;
}

}  // namespace

// All memory is allocated here, so that the batches of a run never move.
BatchLoader::BatchLoader(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(dataset),
      options_(options),
      sampler_(dataset.count(), options.seed, dataset.chunk()),
      global_batch_(global_batch_of(options)),
      rows_(towers_read(options) * options.batch_size),
      first_row_(options.first_tower * options.batch_size),
      steps_per_epoch_(steps_of(dataset.count(), global_batch_, options.drop_last)) {
  at_least(0, options.workers, "data.workers");
  if (options.mix.any()) mixer_.emplace(dataset.spec().columns, options.mix, options.seed);
  require(options.in_use >= 1, "BatchLoader: {} batches in use", options.in_use);
  int64_t slots = at_least(1, options.prefetch, "data.prefetch") + options.in_use;
  slots_.reserve(static_cast<size_t>(slots));
  for (int64_t i = 0; i < slots; ++i) slots_.push_back(make_slot());
  threads_.reserve(static_cast<size_t>(options.workers));
}

BatchLoader::~BatchLoader() {
  stop();
}

std::unique_ptr<DeviceMemory> BatchLoader::allocate_batch(size_t bytes) const {
  try {
    return allocate_staging(options_.device, bytes);
  } catch (const Error& error) {
    if (error.category() != Category::out_of_memory) throw;
    fail(Category::out_of_memory,
         "data.prefetch: cannot allocate {}host memory for {} batches of {}, {} prepared "
         "ahead and {} in use; lower data.prefetch or batch_size ({})",
         options_.device.kind == DeviceKind::cuda ? "pinned " : "",
         options_.prefetch + options_.in_use, bytes_text(bytes), options_.prefetch, options_.in_use,
         error.what());
  }
}

// One allocation a slot, so that pinned memory is asked for once; columns are aligned within it.
BatchLoader::Slot BatchLoader::make_slot() const {
  auto rows = static_cast<size_t>(rows_);
  size_t bytes = 0;
  for (const Column& column : columns()) bytes += align_up(rows * column.row_bytes());
  Slot slot;
  slot.memory = allocate_batch(bytes);
  auto* begin = slot.memory->as<std::byte>();
  for (const Column& column : columns()) {
    slot.columns.push_back(begin);
    slot.batch.columns.push_back(begin);
    begin += align_up(rows * column.row_bytes());
  }
  slot.samples.resize(rows);
  slot.batch.first_row = first_row_;
  return slot;
}

void BatchLoader::start(int64_t epoch, int64_t step_in_epoch, int64_t epochs_end) {
  require(epoch >= 0 && step_in_epoch >= 0 && step_in_epoch <= steps_per_epoch_,
          "BatchLoader: start at step {} of epoch {}, an epoch has {}", step_in_epoch, epoch,
          steps_per_epoch_);
  stop();
  // epochs_end may be the largest integer (a run without an end): the count of tickets is clamped
  // so that it does not overflow.
  int64_t epochs = std::clamp<int64_t>(epochs_end - epoch, 0,
                                       std::numeric_limits<int64_t>::max() / steps_per_epoch_);
  first_epoch_ = epoch;
  first_step_ = step_in_epoch;
  end_ = std::max<int64_t>(0, epochs * steps_per_epoch_ - step_in_epoch);
  try {
    for (int64_t i = 0; i < options_.workers; ++i) {
      ThreadPlace place{fmt::format("{} {}", options_.thread_name, i), options_.cores};
      threads_.push_back(start_thread(std::move(place), [this] { work(); }));
    }
  } catch (...) {
    stop();  // joins those that started
    throw;
  }
}

void BatchLoader::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  slot_free_.notify_all();
  threads_.clear();  // joins
  stopping_ = false;
  end_ = claimed_ = returned_ = released_ = 0;
  for (Slot& slot : slots_) {
    slot.ready = -1;
    slot.error = nullptr;
  }
}

const Batch& BatchLoader::next() {
  require(returned_ < end_, "BatchLoader: no batch is left; start() it first");
  auto before = std::chrono::steady_clock::now();
  Slot& slot = slot_of(returned_);
  if (threads_.empty()) {
    prepare(returned_, slot);
  } else {
    std::unique_lock lock(mutex_);
    // Releases before the wait, so that readers prepare further batches meanwhile.
    released_ = std::max<int64_t>(0, returned_ + 1 - options_.in_use);
    slot_free_.notify_one();
    slot_ready_.wait(lock, [&] { return slot.ready == returned_; });
  }
  wait_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  if (slot.error) std::rethrow_exception(slot.error);
  std::lock_guard lock(mutex_);
  ++returned_;
  return slot.batch;
}

BatchLoader::Slot& BatchLoader::slot_of(int64_t ticket) {
  return slots_[static_cast<size_t>(ticket) % slots_.size()];
}

// Body of a reader thread: claims the next ticket whose slot is free, prepares it unlocked.
void BatchLoader::work() {
  auto slots = static_cast<int64_t>(slots_.size());
  std::unique_lock lock(mutex_);
  while (true) {
    slot_free_.wait(lock,
                    [&] { return stopping_ || claimed_ == end_ || claimed_ < released_ + slots; });
    if (stopping_ || claimed_ == end_) return;
    int64_t ticket = claimed_++;
    Slot& slot = slot_of(ticket);
    lock.unlock();
    prepare(ticket, slot);
    lock.lock();
    slot.ready = ticket;
    if (ticket == returned_) slot_ready_.notify_one();
  }
}

void BatchLoader::prepare(int64_t ticket, Slot& slot) const noexcept {
  // Not first_step_ + ticket, which may overflow: a run without an end has tickets up to INT64_MAX.
  int64_t step = first_step_ + ticket % steps_per_epoch_;
  slot.batch.epoch = first_epoch_ + ticket / steps_per_epoch_ + step / steps_per_epoch_;
  slot.batch.step_in_epoch = step % steps_per_epoch_;
  slot.batch.first_position = slot.batch.step_in_epoch * global_batch_;
  slot.batch.valid = std::min(global_batch_, dataset_.count() - slot.batch.first_position);
  try {
    fill(slot);
  } catch (...) {
    slot.error = std::current_exception();  // rethrown by the next() that reaches this ticket
  }
}

int64_t BatchLoader::sample_of(const Batch& batch, int64_t row) const {
  int64_t position = batch.first_position + row;
  return options_.shuffle ? sampler_.index(batch.epoch, position) : position;
}

void BatchLoader::fill(Slot& slot) const {
  const Batch& batch = slot.batch;
  // Samples among this rank's rows; the last batch of an epoch may leave it none.
  int64_t valid = std::clamp<int64_t>(batch.valid - first_row_, 0, rows_);
  std::span<int64_t> samples(slot.samples.data(), static_cast<size_t>(valid));
  for (int64_t row = 0; row < valid; ++row)
    samples[static_cast<size_t>(row)] = sample_of(batch, first_row_ + row);
  dataset_.read(samples, batch.epoch,
                std::span(slot.columns).first(dataset_.spec().columns.size()));
  if (options_.binary) require_labels(slot, samples);
  if (mixer_) mix(slot, samples);
  // Zeros the rows after the samples, which may still contain an earlier batch.
  for (size_t c = 0; c < slot.columns.size(); ++c) {
    size_t bytes = columns()[c].row_bytes();
    std::memset(slot.columns[c] + samples.size() * bytes, 0,
                static_cast<size_t>(rows_ - valid) * bytes);
  }
}

void BatchLoader::require_labels(const Slot& slot, std::span<const int64_t> samples) const {
  const auto& found = dataset_.spec().columns;
  for (size_t c = 0; c < found.size(); ++c) {
    if (found[c].name != "values") continue;
    int64_t each = found[c].shape.elements();
    const auto* values = reinterpret_cast<const float*>(slot.columns[c]);
    for (size_t row = 0; row < samples.size(); ++row)
      require_binary(values + static_cast<int64_t>(row) * each, each, [&] {
        auto files = dataset_.files();
        return fmt::format("{}sample {}", files.empty() ? "" : files.front().string() + ": ",
                           samples[row]);
      });
  }
}

// Mixes tower by tower, so that a row and its partner are on the same rank.
void BatchLoader::mix(Slot& slot, std::span<const int64_t> samples) const {
  auto tower = static_cast<size_t>(options_.batch_size);
  for (size_t row = 0; row < samples.size(); row += tower)
    mixer_->mix(samples.subspan(row, std::min(tower, samples.size() - row)), slot.batch.epoch, row,
                slot.columns);
}

}  // namespace spire
