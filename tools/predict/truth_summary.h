// How well predictions meet the truth, for rows whose input says it.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include <spire/commands/input_rows.h>
#include <spire/commands/trained_model.h>
#include <spire/run_config.h>

namespace spire::tool {

class TruthSummary {
 public:
  // loss: of the training run.
  TruthSummary(ModelTask task, const LossConfig& loss);

  // outputs: logits (classes) or values (K) of one row. Does nothing for a row without a truth, and
  // for models of several labels a sample (loss.name: binary).
  void add(const RowOrigin& origin, std::span<const float> outputs);

  int64_t rows() const { return rows_; }  // with a truth
  // Returns "loss 0.2713 accuracy 0.9200 of 200 samples": of classes the cross entropy, where the
  // run's loss is that alone, and the share whose largest output is the truth; of values the RMSE
  // over all of them. These are the numbers of `trainer eval`, but for rounding. "" without rows.
  std::string text() const;

 private:
  ModelTask task_;
  bool binary_, plain_entropy_;
  int64_t rows_ = 0, right_ = 0, values_ = 0;
  double loss_ = 0, squares_ = 0;  // sums
};

}  // namespace spire::tool
