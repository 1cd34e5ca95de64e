// A step or an evaluation as one line of text, in two dresses: for a terminal, where the line is
// rewritten in place, and for a file, where it is timestamped. Loss and metric of a step's line are
// those of its epoch so far: the numbers of one batch say little, and less where it is a small one.
#pragma once
#include <chrono>
#include <string>

#include <spire/observer.h>

namespace spire::inline observe {

// What a line takes from the run. The wait for others' gradients ("comm 3%") is shown when there
// are several processes, and in one process from 1% on.
struct LineContext {
  int64_t epochs = 0;  // 0: not known
  int64_t processes = 1;
};

// "epoch 3.4/10  step 1200/3000  loss 0.1234  acc 91.2%  lr 0.001  812 samples/s  data 2%  eta
// 1:15" in at most `width` columns: shorter labels first, then fields are left out, the least
// needed first. colour: labels are dimmed; escapes do not count as columns.
std::string progress_line(const StepReport& step, const LineContext& context, int width,
                          bool colour);

// "2026-01-31T12:00:00Z step 1200/10000 epoch 3.42 loss 0.1234 ..."
std::string plain_line(const StepReport& step, const LineContext& context,
                       std::chrono::system_clock::time_point time);

// "eval step 1200 epoch 3 loss 0.2501 accuracy 91.32% best 10 000 samples in 1.2 s", no newline.
std::string eval_line(const EvalReport& eval);

// "checkpoint step 1200 1.6 MiB runs/x/checkpoints/step_00001200.h5", no newline.
std::string checkpoint_line(const CheckpointReport& checkpoint);

}  // namespace spire::inline observe
