// Global batches in the order of the sampler, prepared ahead by reader threads in a ring of slots.
// What a batch holds is a function of (dataset, options, epoch, step): never of the number of
// workers, nor of where start() began.
#pragma once
#include <spire/base/dtype.h>
#include <spire/data/augment.h>
#include <spire/data/dataset.h>
#include <spire/data/sampler.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace spire {

struct LoaderOptions {
  int64_t batch_size = 1;    // samples a tower a step
  int64_t towers = 1;        // of all processes; the global batch is towers x batch_size
  DType dtype = DType::f32;  // of the images: f32 | bf16
  int64_t workers = 1;       // reader threads; 0: next() prepares the batch itself
  int64_t prefetch = 3;      // global batches prepared ahead of the one in use
  bool shuffle = true;       // false: samples in the order of the dataset
  bool drop_last = false;    // leave an epoch's last batch out when it is not full
  AugmentOptions augment;
  uint64_t seed = 0;
};

// One global batch; its memory is the loader's and stays as it is until the following next().
struct Batch {
  const void* images = nullptr;     // (towers * batch_size, H, W, C); zero from row `valid` on
  const int32_t* labels = nullptr;  // (towers * batch_size); zero from `valid` on
  int64_t valid = 0;  // samples; tower t has clamp(valid - t * batch_size, 0, batch_size)
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;
  int64_t first_position = 0;  // of row 0 in the epoch: step_in_epoch * towers * batch_size
};

// One thread, the consumer, calls all methods; the reader threads are the loader's own. They sleep
// while there is nothing to prepare. No memory is allocated after start().
class BatchLoader {
 public:
  // The dataset must outlive the loader. Throws Error(config) for options out of range, and where
  // drop_last would leave no batch at all.
  BatchLoader(const Dataset& dataset, const Normalization& normalization,
              const LoaderOptions& options);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // The next batch is (epoch, step_in_epoch), the last one ends epoch epochs_end - 1. May be called
  // again at any time. step_in_epoch in [0, steps_per_epoch()]; the latter is the next epoch's 0.
  void start(int64_t epoch, int64_t step_in_epoch, int64_t epochs_end);

  // Gives the previous batch back and waits for the next one. Rethrows what went wrong while it was
  // prepared, such as Error(data) for a label out of range. Calling it when finished() is an error.
  const Batch& next();
  bool finished() const { return given_ == end_; }

  // Ends the reader threads; the batch in use stays valid until start().
  void stop();

  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  double wait_seconds() const { return wait_seconds_; }  // spent in next() since construction

 private:
  struct AlignedDelete {
    void operator()(std::byte* memory) const;
  };
  struct Slot {
    std::unique_ptr<std::byte[], AlignedDelete> memory;  // images, then labels; both aligned
    Batch batch;
    int64_t ready = -1;  // the ticket whose batch it holds
    std::exception_ptr error;
  };

  Slot make_slot() const;
  Slot& slot_of(int64_t ticket);
  void work();
  void prepare(int64_t ticket, Slot& slot) const noexcept;
  void fill(Slot& slot) const;
  int64_t sample_of(const Batch& batch, int64_t row) const;
  const uint8_t* pixels_of(int64_t sample) const;

  const Dataset& dataset_;
  LoaderOptions options_;
  Sampler sampler_;
  ImageWriter writer_;
  int64_t global_batch_;
  int64_t steps_per_epoch_;
  std::vector<Slot> slots_;  // prefetch, and the one in use
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

}  // namespace spire
