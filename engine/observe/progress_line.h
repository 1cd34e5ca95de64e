// Formats a step, an evaluation or a checkpoint as one line: for a terminal, where it is rewritten
// in place, or for a file, with a timestamp. Loss and metric are means over the epoch so far, since
// those of one batch are noisy.
#pragma once
#include <chrono>
#include <string>

#include <spire/observer.h>

namespace spire::inline observe {

// Facts of the run that a line needs. The wait for others' gradients ("comm 3%") is shown for
// several processes, and for one process from 1% on.
struct LineContext {
  int64_t epochs = 0;  // 0: unknown
  int64_t processes = 1;
};

// "epoch 3.4/10  step 1200/3000  loss 0.1234  acc 91.2%  lr 0.001  812 samples/s  data 2%  eta
// 1:15" in at most `width` columns: first labels are shortened, then fields are left out, least
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
