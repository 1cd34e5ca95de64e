// Global batches in the order of the sampler, prepared ahead by reader threads in a ring of slots.
// What a batch holds is a function of (dataset, options, epoch, step): never of the number of
// workers, nor of where start() began.
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
  int64_t towers = 1;      // of all processes; the global batch is towers x batch_size
  // The towers whose rows this process reads; a count of 0: all towers.
  int64_t first_tower = 0;
  int64_t tower_count = 0;
  int64_t workers = 1;     // reader threads; 0: next() prepares the batch itself
  int64_t prefetch = 3;    // global batches prepared ahead of those in use
  int64_t held = 1;        // batches in use at a time: see Batch
  bool shuffle = true;     // false: samples in the order of the dataset
  bool drop_last = false;  // leave an epoch's last batch out when it is not full
  uint64_t seed = 0;
  MixOptions mix = {};  // mixes the samples of each tower, and adds two columns
  // Streams of its kind copy batches while the host goes on: for a GPU they lie in pinned memory.
  DeviceId device = {};
  std::string thread_name = "reader";  // of the reader threads, which their number follows
  std::vector<int> cores = {};         // where they run; empty: where start() is called
};

// This process's rows of one global batch; the memory is the loader's and stays as it is until the
// held-th following next(): with 1 until the next one, with 2 until the one after that. So a batch
// that a GPU still reads while the host asks for the next one needs 2. What a row holds does not
// depend on which rows a process reads.
struct Batch {
  // One a column of BatchLoader::columns(): (tower_count * batch_size, row); zero from `valid` on.
  std::vector<const std::byte*> columns;
  int64_t first_row = 0;  // of the global batch: the row that the columns begin with
  int64_t valid = 0;      // samples of the global batch, which fill its rows from 0 on; tower t has
                          // clamp(valid - t * batch_size, 0, batch_size)
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;
  // Of the global row 0 in the epoch: step_in_epoch * towers * batch_size.
  int64_t first_position = 0;

  template <typename T>
  const T* column(size_t index) const {
    return reinterpret_cast<const T*>(columns[index]);
  }
};

// One thread, the consumer, calls all methods; the reader threads are the loader's own. They sleep
// while there is nothing to prepare. No memory is allocated after start(). Whoever has streams copy
// from batches sees to it that they are done before start() is called and before the loader ends.
class BatchLoader {
 public:
  // The dataset must outlive the loader. Throws Error(config) for options out of range, and where
  // drop_last would leave no batch at all; Error(unexpected) for towers that are not there;
  // Error(out_of_memory) for prefetch + held batches that the host has no memory for.
  BatchLoader(const Dataset& dataset, const LoaderOptions& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // The next batch is (epoch, step_in_epoch), the last one ends epoch epochs_end - 1. May be called
  // again at any time. step_in_epoch in [0, steps_per_epoch()]; the latter is the next epoch's 0.
  void start(int64_t epoch, int64_t step_in_epoch, int64_t epochs_end);

  // Gives the batch back that came `held` calls ago, and waits for the next one. Rethrows what went
  // wrong while it was prepared, such as Error(data) for a label out of range. Calling it when
  // finished() is an error.
  const Batch& next();
  bool finished() const { return given_ == end_; }

  // Ends the reader threads; the batches in use stay valid until start().
  void stop();

  // The dataset's, and other_labels and mix when samples are mixed.
  const std::vector<Column>& columns() const {
    return mixer_ ? mixer_->columns() : dataset_.spec().columns;
  }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  double wait_seconds() const { return wait_seconds_; }  // spent in next() since construction

 private:
  struct Slot {
    std::unique_ptr<DeviceMemory> memory;  // of the host: the columns, each aligned
    std::vector<std::byte*> columns;       // in it
    std::vector<int64_t> samples;          // of its rows
    Batch batch;
    int64_t ready = -1;  // the ticket whose batch it holds
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
  int64_t rows_, first_row_;  // this process's: how many, and where they begin
  int64_t steps_per_epoch_;
  std::vector<Slot> slots_;  // prefetch + held
  double wait_seconds_ = 0;
  std::vector<std::jthread> threads_;

  // Batches are numbered by tickets from start() on. Ticket 0 is step first_step_ of first_epoch_.
  // These three are written only while no reader thread runs.
  int64_t first_epoch_ = 0, first_step_ = 0, end_ = 0;

  std::mutex mutex_;  // guards what follows, and Slot::ready
  std::condition_variable slot_free_, slot_ready_;
  int64_t claimed_ = 0;     // tickets that workers took
  int64_t given_ = 0;       // tickets that next() returned
  int64_t given_back_ = 0;  // tickets whose slots may be written again
  bool stopping_ = false;
};

}  // namespace spire::inline data
