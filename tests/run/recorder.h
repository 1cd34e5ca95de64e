// What a run reports in this process.
#pragma once
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include <spire/load_config.h>
#include <spire/train.h>

#include "tests/tools/words.h"

namespace spire {

// Keeps what it hears, and raises its flag once step `stop_after` is done.
class Recorder : public Observer {
 public:
  explicit Recorder(int64_t stop_after = -1) : stop_after_(stop_after) {}
  void on_start(const StartInfo& info) override { start = info; }
  void on_step(const StepReport& step) override {
    steps.push_back(step);
    if (step.step == stop_after_) stop = true;
  }
  void on_eval(const EvalReport& eval) override { evaluations.push_back(eval); }
  void on_test(const EvalReport& eval) override { tests.push_back(eval); }
  void on_note(std::string_view text) override { notes.emplace_back(text); }
  void on_warning(std::string_view text) override { warnings.emplace_back(text); }
  std::vector<int64_t> evaluated_steps() const {
    std::vector<int64_t> found;
    for (const EvalReport& eval : evaluations) found.push_back(eval.step);
    return found;
  }

  StartInfo start;
  std::vector<StepReport> steps;  // without what is valid in on_step() alone
  std::vector<EvalReport> evaluations, tests;
  Words notes, warnings;
  std::atomic<bool> stop = false;

 private:
  int64_t stop_after_;
};

// The run of these words, of keys alone, in this process.
inline RunResult train_here(const Words& words, Recorder& recorder,
                            std::optional<std::string> resume = {}) {
  RunOptions options;
  options.resume = std::move(resume);
  options.stop = &recorder.stop;
  return train(parse_config({}, words).config, options, recorder);
}

}  // namespace spire
