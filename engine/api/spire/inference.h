// Outputs of a model on any thread, also while it trains.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include <spire/checkpoint.h>
#include <spire/dataset.h>
#include <spire/export.h>
#include <spire/model.h>
#include <spire/tensor.h>
#include <spire/trainer.h>

namespace spire {

struct InferenceOptions {
  // Rows computed at a time, for which there is memory for as many threads as call at once. Fewer
  // than a quarter of them are computed row by row, which may round otherwise; with 1 all are.
  int64_t rows = 32;
};

// A model with weights of its own, computed by the thread that calls, on one core or on a GPU.
class SPIRE_API InferenceSession {
 public:
  // Copies the trainer's weights (their averages with ema.decay), and computes on its first device.
  // All processes of the trainer call it, as they call update(). Throws what Trainer's methods
  // throw, and Error(config) for less than one row.
  explicit InferenceSession(Trainer& trainer, const InferenceOptions& options = {});
  // On the CPU. model: of a checkpoint whose model the program defines. Throws Error(checkpoint),
  // Error(config).
  explicit InferenceSession(const Checkpoint& checkpoint, const InferenceOptions& options = {},
                            std::shared_ptr<const Model> model = {});
  ~InferenceSession();
  InferenceSession(InferenceSession&&) noexcept;
  InferenceSession& operator=(InferenceSession&&) noexcept;

  // Copies the present weights of the trainer, or of another one of the same config, on the thread
  // that calls the trainer. Calls of predict() go on meanwhile: those that have begun end with the
  // weights that they began with. Throws Error(config) if the trainer's weights are others.
  void update(Trainer& trainer);

  const SampleSpec& data() const;     // columns and classes of the model's data
  int64_t columns() const;            // the first of them, from which outputs are computed
  const Shape& output_shape() const;  // of one row

  // columns: `count` rows of each of columns(). Writes (count, output_shape()) numbers, the size of
  // `out`; a row's output does not depend on other rows. Any threads may call it at once; a GPU
  // computes for one at a time. Where more threads call than ever before, one of them plans the
  // model anew first, which takes milliseconds. Throws Error(config) for rows that do not match the
  // columns, and Error(data) for numbers out of range.
  void predict(std::span<const ColumnRows> columns, int64_t count, std::span<float> out) const;
  void predict(const ColumnRows& rows, int64_t count, std::span<float> out) const {
    predict({&rows, 1}, count, out);
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire
