#include <spire/base/error.h>
#include <spire/data/loader.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>

namespace spire {
namespace {

constexpr size_t alignment = 64;

size_t round_up(size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

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
    fail(Category::config, "global batch {} x {} is beyond 2^31 - 1; lower batch_size",
         options.towers, options.batch_size);
  return global;
}

int64_t steps_of(int64_t count, int64_t global_batch, bool drop_last) {
  if (drop_last && count < global_batch)
    fail(Category::config,
         "data.last_batch: drop leaves nothing: the dataset has {} samples, less than one global "
         "batch of {}; lower batch_size or use weighted",
         count, global_batch);
  return drop_last ? count / global_batch : (count + global_batch - 1) / global_batch;
}

// A shuffled image is in no cache: its lines are asked for while the one before is written.
void fetch_ahead(const uint8_t* pixels, int64_t bytes) {
  constexpr int64_t line = 64, most = 64 * line;
  for (int64_t i = 0; i < std::min(bytes, most); i += line) __builtin_prefetch(pixels + i);
}

const Dataset& checked(const Dataset& dataset) {
  auto count = static_cast<size_t>(dataset.count);
  require(dataset.count >= 1 && dataset.image_size() >= 1, "a dataset without samples");
  require(dataset.pixels.size() == count * static_cast<size_t>(dataset.image_size()) &&
              dataset.labels.size() == count,
          "a dataset of {} samples with {} pixels and {} labels", count, dataset.pixels.size(),
          dataset.labels.size());
  return dataset;
}

}  // namespace

void BatchLoader::AlignedDelete::operator()(std::byte* memory) const {
  ::operator delete[](memory, std::align_val_t{alignment});
}

BatchLoader::BatchLoader(const Dataset& dataset, const Normalization& normalization,
                         const LoaderOptions& options)
    : dataset_(checked(dataset)),
      options_(options),
      sampler_(dataset.count, options.seed),
      writer_(dataset, normalization, options.dtype, options.augment, options.seed),
      global_batch_(global_batch_of(options)),
      steps_per_epoch_(steps_of(dataset.count, global_batch_, options.drop_last)) {
  at_least(0, options.workers, "data.workers");
  int64_t slots = at_least(1, options.prefetch, "data.prefetch") + 1;
  slots_.reserve(static_cast<size_t>(slots));
  for (int64_t i = 0; i < slots; ++i) slots_.push_back(make_slot());
  threads_.reserve(static_cast<size_t>(options.workers));
}

BatchLoader::~BatchLoader() {
  stop();
}

BatchLoader::Slot BatchLoader::make_slot() const {
  auto rows = static_cast<size_t>(global_batch_);
  size_t images = round_up(rows * writer_.image_bytes());
  size_t bytes = images + rows * sizeof(int32_t);
  Slot slot;
  try {
    slot.memory.reset(new (std::align_val_t{alignment}) std::byte[bytes]);
  } catch (const std::bad_alloc&) {
    fail(Category::config,
         "no memory for {} global batches of {} bytes; lower data.prefetch or "
         "batch_size",
         options_.prefetch + 1, bytes);
  }
  slot.batch.images = slot.memory.get();
  slot.batch.labels = reinterpret_cast<int32_t*>(slot.memory.get() + images);
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
    for (int64_t i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    stop();
    fail(Category::device, "cannot start {} reader threads: {}; lower data.workers",
         options_.workers, error.what());
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
    given_back_ = given_;
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
  slot.batch.valid = std::min(global_batch_, dataset_.count - slot.batch.first_position);
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

const uint8_t* BatchLoader::pixels_of(int64_t sample) const {
  return dataset_.pixels.data() + sample * dataset_.image_size();
}

void BatchLoader::fill(Slot& slot) const {
  const Batch& batch = slot.batch;
  size_t image_bytes = writer_.image_bytes();
  auto* image = slot.memory.get();
  auto* labels = const_cast<int32_t*>(batch.labels);  // the slot's own memory
  int64_t sample = sample_of(batch, 0);
  for (int64_t row = 0; row < batch.valid; ++row, image += image_bytes) {
    int64_t following = row + 1 < batch.valid ? sample_of(batch, row + 1) : sample;
    fetch_ahead(pixels_of(following), dataset_.image_size());
    int32_t label = dataset_.labels[static_cast<size_t>(sample)];
    if (label < 0 || label >= dataset_.classes)
      fail(Category::data, "sample {}: label {}, expected 0 to {}", sample, label,
           dataset_.classes - 1);
    labels[row] = label;
    writer_.write(pixels_of(sample), batch.epoch, sample, image);
    sample = following;
  }
  auto missing = static_cast<size_t>(global_batch_ - batch.valid);
  std::memset(image, 0, missing * image_bytes);
  std::fill_n(labels + batch.valid, missing, 0);
}

}  // namespace spire
