#include "engine/data/loader.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include <spire/error.h>

#include "engine/base/thread.h"
#include "engine/device/device_memory.h"

namespace spire::inline data {
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
  return global;
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
  require(options.held >= 1, "BatchLoader: {} batches in use", options.held);
  int64_t slots = at_least(1, options.prefetch, "data.prefetch") + options.held;
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
         "data.prefetch: cannot allocate {}host memory for {} batches of {:.1f} MiB, {} prepared "
         "ahead and {} in use; lower data.prefetch or batch_size ({})",
         options_.device.kind == DeviceKind::cuda ? "pinned " : "",
         options_.prefetch + options_.held, static_cast<double>(bytes) / 0x1p20, options_.prefetch,
         options_.held, error.what());
  }
}

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
    stop();
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
  end_ = claimed_ = given_ = given_back_ = 0;
  for (Slot& slot : slots_) {
    slot.ready = -1;
    slot.error = nullptr;
  }
}

const Batch& BatchLoader::next() {
  require(given_ < end_, "BatchLoader: no batch is left; start() it first");
  auto before = std::chrono::steady_clock::now();
  Slot& slot = slot_of(given_);
  if (threads_.empty()) {
    prepare(given_, slot);
  } else {
    std::unique_lock lock(mutex_);
    given_back_ = std::max<int64_t>(0, given_ + 1 - options_.held);
    slot_free_.notify_one();
    slot_ready_.wait(lock, [&] { return slot.ready == given_; });
  }
  wait_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  if (slot.error) std::rethrow_exception(slot.error);
  std::lock_guard lock(mutex_);
  ++given_;
  return slot.batch;
}

BatchLoader::Slot& BatchLoader::slot_of(int64_t ticket) {
  return slots_[static_cast<size_t>(ticket) % slots_.size()];
}

void BatchLoader::work() {
  auto slots = static_cast<int64_t>(slots_.size());
  std::unique_lock lock(mutex_);
  while (true) {
    slot_free_.wait(
        lock, [&] { return stopping_ || claimed_ == end_ || claimed_ < given_back_ + slots; });
    if (stopping_ || claimed_ == end_) return;
    int64_t ticket = claimed_++;
    Slot& slot = slot_of(ticket);
    lock.unlock();
    prepare(ticket, slot);
    lock.lock();
    slot.ready = ticket;
    if (ticket == given_) slot_ready_.notify_one();
  }
}

void BatchLoader::prepare(int64_t ticket, Slot& slot) const noexcept {
  // Not first_step_ + ticket: a run without an end has tickets up to the largest integer.
  int64_t step = first_step_ + ticket % steps_per_epoch_;
  slot.batch.epoch = first_epoch_ + ticket / steps_per_epoch_ + step / steps_per_epoch_;
  slot.batch.step_in_epoch = step % steps_per_epoch_;
  slot.batch.first_position = slot.batch.step_in_epoch * global_batch_;
  slot.batch.valid = std::min(global_batch_, dataset_.count() - slot.batch.first_position);
  try {
    fill(slot);
  } catch (...) {
    slot.error = std::current_exception();  // next() rethrows it in its turn
  }
}

int64_t BatchLoader::sample_of(const Batch& batch, int64_t row) const {
  int64_t position = batch.first_position + row;
  return options_.shuffle ? sampler_.index(batch.epoch, position) : position;
}

void BatchLoader::fill(Slot& slot) const {
  const Batch& batch = slot.batch;
  // Of this process's own rows; the last batch of an epoch may leave it none.
  int64_t valid = std::clamp<int64_t>(batch.valid - first_row_, 0, rows_);
  std::span<int64_t> samples(slot.samples.data(), static_cast<size_t>(valid));
  for (int64_t row = 0; row < valid; ++row)
    samples[static_cast<size_t>(row)] = sample_of(batch, first_row_ + row);
  dataset_.read(samples, batch.epoch,
                std::span(slot.columns).first(dataset_.spec().columns.size()));
  if (mixer_) mix(slot, samples);
  for (size_t c = 0; c < slot.columns.size(); ++c) {
    size_t bytes = columns()[c].row_bytes();
    std::memset(slot.columns[c] + samples.size() * bytes, 0,
                static_cast<size_t>(rows_ - valid) * bytes);
  }
}

// Tower by tower, so that a row's partner is read by the same process.
void BatchLoader::mix(Slot& slot, std::span<const int64_t> samples) const {
  auto tower = static_cast<size_t>(options_.batch_size);
  for (size_t row = 0; row < samples.size(); row += tower)
    mixer_->mix(samples.subspan(row, std::min(tower, samples.size() - row)), slot.batch.epoch, row,
                slot.columns);
}

}  // namespace spire::inline data
