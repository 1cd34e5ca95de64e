// Judges the steps of a run by their loss and the norm of their gradient, and counts those that it
// rejects. Equal numbers give equal answers, so that all ranks judge alike.
#pragma once
#include <cstdint>
#include <deque>
#include <string>

#include <spire/run_config.h>

#include "engine/train/tower_trainer.h"

namespace spire {

class Guard {
 public:
  explicit Guard(const GuardConfig& config) : config_(config) {}

  // Whether steps are judged before they change the weights; false: only stops are asked for, and
  // only of numbers that are not finite.
  bool judges() const;

  // Returns what is wrong with a step, such as "the loss is nan, the gradient norm 3.1"; "" if
  // nothing. A loss or norm is compared with the window once that is full:
  //   value - mean > zscore * max(standard deviation, 1e-6 |mean|)
  // A step that overflowed fp16 is not bad: the loss scale skips it.
  std::string problem(const StepOutcome& step) const;

  void accept(const StepOutcome& step);  // adds a good step to the window
  void skip();                           // counts a bad step, which has changed nothing
  // Call it when the weights are again those after step `back`: the steps from back + 1 to `now`
  // count as bad steps, which have changed nothing. text: text() in the checkpoint of `back`.
  void roll_back(const std::string& text, int64_t back, int64_t now);

  int64_t bad_steps() const { return state_.bad_steps; }  // of the run; they changed nothing
  int64_t in_row() const { return state_.in_row; }
  int64_t rollbacks() const { return state_.rollbacks; }

  // The state as text for checkpoints, without loss of a bit; empty where there is nothing to keep.
  std::string text() const;
  void restore(const std::string& text);  // throws Error(checkpoint)

 private:
  struct Numbers {
    double loss = 0, grad_norm = 0;
  };
  struct State {
    int64_t bad_steps = 0, in_row = 0, rollbacks = 0;
    std::deque<Numbers> window;  // of the last good steps, oldest first
  };
  std::string spike(const char* what, double value, double zscore, double Numbers::*number) const;
  static State parse(const std::string& text);

  GuardConfig config_;
  State state_;
};

}  // namespace spire
