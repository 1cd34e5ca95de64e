// Data loader: prepares global batches ahead, on reader threads, in a ring of slots. The content of
// a batch is a function of (dataset, options, epoch, step), not of the number of workers nor of
// where start() began.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/data/images/mix.h"
#include "engine/data/sampler.h"
#include "engine/device/device_memory.h"

namespace spire::inline data {

struct LoaderOptions {
  int64_t batch_size = 1;  // samples a tower a step
  int64_t towers = 1;      // of all ranks; the global batch is towers x batch_size
  // Range of towers whose rows this rank reads; tower_count 0: all towers.
  int64_t first_tower = 0;
  int64_t tower_count = 0;
  int64_t workers = 1;     // reader threads; 0: next() prepares the batch
  int64_t prefetch = 3;    // global batches prepared ahead of those in use
  int64_t in_use = 1;      // batches in use at a time, see Batch
  bool shuffle = true;     // false: samples in the order of the dataset
  bool drop_last = false;  // leave out an epoch's last batch if not full
  uint64_t seed = 0;
  MixOptions mix = {};  // mixes the samples of each tower, and adds two columns
  // The device that copies batches by streams: for a GPU they are in pinned memory.
  DeviceId device = {};
  std::string thread_name = "reader";  // of reader threads, followed by their number
  std::vector<int> cores = {};         // of reader threads; empty: those of the caller of start()
};

// This rank's rows of one global batch, in memory of the loader. Valid until the in_use-th next()
// that follows: a GPU that copies a batch while the host fetches the next one needs in_use = 2.
struct Batch {
  // By column of BatchLoader::columns(): (tower_count * batch_size, row); zero from `valid` on.
  std::vector<const std::byte*> columns;
  int64_t first_row = 0;  // index in the global batch of the columns' first row
  int64_t valid = 0;      // samples of the global batch: rows [0, valid); tower t has
                          // clamp(valid - t * batch_size, 0, batch_size) of them
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;
  // Position in the epoch of global row 0: step_in_epoch * towers * batch_size.
  int64_t first_position = 0;

  template <typename T>
  const T* column(size_t index) const {
    return reinterpret_cast<const T*>(columns[index]);
  }
};

// One thread, the consumer, calls all methods. The loader owns its reader threads; they sleep while
// there is nothing to prepare. Nothing is allocated after start(). Streams that copy from batches
// must be done before start() and before destruction.
class BatchLoader {
 public:
  // The dataset must outlive the loader. Throws Error(config) for options out of range, and where
  // drop_last leaves no batch; Error(out_of_memory) where the batches do not fit into host memory.
  BatchLoader(const Dataset& dataset, const LoaderOptions& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Seeks: the next batch is (epoch, step_in_epoch), the last one ends epoch epochs_end - 1. May be
  // called again at any time. step_in_epoch in [0, steps_per_epoch()]; the latter means step 0 of
  // the next epoch.
  void start(int64_t epoch, int64_t step_in_epoch, int64_t epochs_end);

  // Releases the batch returned `in_use` calls ago and waits for the next one. Rethrows the error
  // of its preparation, such as Error(data) for a label out of range. Requires !finished().
  const Batch& next();
  bool finished() const { return returned_ == end_; }

  // Joins the reader threads; batches in use stay valid until start().
  void stop();

  // Returns the dataset's columns, and other_labels and mix when samples are mixed.
  const std::vector<Column>& columns() const {
    return mixer_ ? mixer_->columns() : dataset_.spec().columns;
  }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  double wait_seconds() const { return wait_seconds_; }  // in next() since construction

 private:
  struct Slot {
    std::unique_ptr<DeviceMemory> memory;  // host memory of the columns, each aligned
    std::vector<std::byte*> columns;       // pointers into `memory`
    std::vector<int64_t> samples;          // (rows)
    Batch batch;
    int64_t ready = -1;  // ticket of the batch in it
    std::exception_ptr error;
  };

  std::unique_ptr<DeviceMemory> allocate_batch(size_t bytes) const;
  Slot make_slot() const;
  Slot& slot_of(int64_t ticket);
  void work();
  void prepare(int64_t ticket, Slot& slot) const noexcept;
  void fill(Slot& slot) const;
  void mix(Slot& slot, std::span<const int64_t> samples) const;
  int64_t sample_of(const Batch& batch, int64_t row) const;

  const Dataset& dataset_;
  LoaderOptions options_;
  Sampler sampler_;
  std::optional<Mixer> mixer_;
  int64_t global_batch_;
  int64_t rows_, first_row_;  // this rank's: count, and index of the first
  int64_t steps_per_epoch_;
  std::vector<Slot> slots_;  // prefetch + in_use
  double wait_seconds_ = 0;
  std::vector<std::jthread> threads_;

  // Tickets number batches from start() on; ticket 0 is step first_step_ of first_epoch_. These
  // three are written only while no reader thread runs.
  int64_t first_epoch_ = 0, first_step_ = 0, end_ = 0;

  std::mutex mutex_;  // guards the members below and Slot::ready
  std::condition_variable slot_free_, slot_ready_;
  // Slots of tickets below released_ may be rewritten.
  int64_t claimed_ = 0;   // tickets taken by workers
  int64_t returned_ = 0;  // tickets returned by next()
  int64_t released_ = 0;  // tickets no longer in use
  bool stopping_ = false;
};

}  // namespace spire::inline data
