// Loader that prepares global batches ahead of their use, on reader threads, in a ring of slots.
// The content of a batch is a function of (dataset, options, epoch, step) alone.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/images/mix.h"
#include "engine/data/sampler.h"
#include "engine/device/device_memory.h"

namespace spire {

struct LoaderOptions {
  int64_t batch_size = 1;  // samples per tower per step
  // Towers of all ranks. A tower is an equal share of a global batch: batch_size of its samples.
  int64_t towers = 1;
  // Samples of a step, at most batch_size * towers; the last tower may have fewer than batch_size.
  // 0: batch_size * towers.
  int64_t global_batch = 0;
  // The towers whose rows this rank (process) reads; tower_count = 0 means all towers.
  int64_t first_tower = 0;
  int64_t tower_count = 0;
  int64_t workers = 1;     // reader threads; 0: next() prepares each batch itself
  int64_t prefetch = 3;    // global batches prepared ahead of those in use
  int64_t in_use = 1;      // batches that stay valid at a time (see Batch)
  bool shuffle = true;     // false: samples in the order of the dataset
  bool drop_last = false;  // leave out the last batch of an epoch if it is not full
  uint64_t seed = 0;
  bool binary = false;                 // true: values are labels, and must be 0 or 1
  MixOptions mix = {};                 // mixup and cutmix, which add two columns (Mixer)
  DeviceId device = {};                // the device that reads the batches; GPU: pinned memory
  std::string thread_name = "reader";  // of the reader threads, followed by their number
  std::vector<int> cores = {};  // for the reader threads; empty: those of the caller of start()
};

// This rank's rows of a global batch. Valid until next() has been called in_use more times, so
// in_use must be 2 if a GPU copies one batch while the host fetches the next.
struct Batch {
  // One pointer per entry of columns() to (tower_count * batch_size, row) values.
  std::vector<const std::byte*> columns;
  int64_t first_row = 0;  // index in the global batch of the first row of `columns`
  int64_t valid = 0;      // samples of the global batch, its rows [0, valid); other rows are zero
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;
  int64_t first_position = 0;  // position in the epoch of global row 0

  template <typename T>
  const T* column(size_t index) const {
    return reinterpret_cast<const T*>(columns[index]);
  }
};

// One thread calls all methods. Reader threads sleep while there is nothing to prepare. Nothing is
// allocated after start(). GPU copies of batches must have ended before start() and destruction.
class BatchLoader {
 public:
  // The dataset must outlive this. Throws Error(config) for options out of range, and if drop_last
  // leaves no batch; Error(out_of_memory) if the batches do not fit in memory.
  BatchLoader(const Dataset& dataset, const LoaderOptions& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Seeks: the next batch is step_in_epoch of `epoch`, the last one ends epoch epochs_end - 1.
  // step_in_epoch = steps_per_epoch() is step 0 of the next epoch. May be called again.
  void start(int64_t epoch, int64_t step_in_epoch, int64_t epochs_end);

  // Releases the batch returned `in_use` calls ago, and waits for the next one. Throws the error
  // with which the batch was prepared.
  const Batch& next();
  bool finished() const { return returned_ == end_; }

  void stop();  // joins the reader threads; batches in use stay valid until start()

  // Returns the dataset's columns; if samples are mixed, then also other_labels and mix.
  const std::vector<Column>& columns() const {
    return mixer_ ? mixer_->columns() : dataset_.spec().columns;
  }
  // Returns the sample in a row of the global batch, also of another rank's tower; any thread.
  int64_t sample_of(const Batch& batch, int64_t row) const;
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  double wait_seconds() const { return wait_seconds_; }  // time spent in next() so far

 private:
  struct Slot {
    std::unique_ptr<DeviceMemory> memory;  // host memory of the columns, each aligned
    std::vector<std::byte*> columns;       // pointers into `memory`
    std::vector<int64_t> samples;          // index of the sample in each row
    Batch batch;
    int64_t ready = -1;  // ticket of the batch that the slot contains
    std::exception_ptr error;
  };

  std::unique_ptr<DeviceMemory> allocate_batch(size_t bytes) const;
  Slot make_slot() const;
  Slot& slot_of(int64_t ticket);
  void work();
  void prepare(int64_t ticket, Slot& slot) const noexcept;
  void fill(Slot& slot) const;
  void require_labels(const Slot& slot, std::span<const int64_t> samples) const;
  void mix(Slot& slot, std::span<const int64_t> samples) const;

  const Dataset& dataset_;
  LoaderOptions options_;
  Sampler sampler_;
  std::optional<Mixer> mixer_;
  int64_t global_batch_;
  int64_t rows_, first_row_;  // this rank's rows: their number, and the index of the first
  int64_t steps_per_epoch_;
  std::vector<Slot> slots_;  // prefetch + in_use slots
  double wait_seconds_ = 0;
  std::vector<std::jthread> threads_;

  // Tickets number the batches from start() on; ticket 0 is step first_step_ of first_epoch_. The
  // three members are written only while no reader thread runs.
  int64_t first_epoch_ = 0, first_step_ = 0, end_ = 0;

  std::mutex mutex_;  // guards the members below and Slot::ready
  std::condition_variable slot_free_, slot_ready_;
  int64_t claimed_ = 0;   // tickets taken by reader threads
  int64_t returned_ = 0;  // tickets returned by next()
  int64_t released_ = 0;  // tickets no longer in use: their slots may be overwritten
  bool stopping_ = false;
};

}  // namespace spire
