// Formats the reports of a run as text for people: blocks at its start and end, lines during it.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include <spire/observer.h>

namespace spire {

// Return lines that begin with a title; facts that do not apply to the run are left out.
std::string start_block(const StartInfo& start);   // model, data, devices, memory, length, output
std::string end_block(const RunSummary& summary);  // the last line is "parameter hash  <hex>"

struct LineContext {
  int64_t epochs = 0;  // length of the run; 0 if unknown
  int64_t processes = 1;
};

// Formats a step for a terminal: "epoch 3.4/10  step 1200/3000  loss 0.1234  acc 91.2%  ...". Loss
// and metric are means over the epoch so far. Fields that do not fit into `width` columns are left
// out. colour: dims labels by escape sequences, which do not count as columns.
std::string progress_line(const StepReport& step, const LineContext& context, int width,
                          bool colour);

// Formats a step for a file: "2026-01-31T12:00:00Z step 1200/10000 epoch 3.42 loss 0.1234 ...".
std::string plain_line(const StepReport& step, const LineContext& context,
                       std::chrono::system_clock::time_point time);

// Returns "eval step 1200 epoch 3 loss 0.2501 accuracy 91.32% best 10 000 samples in 1.2 s"
std::string eval_line(const EvalReport& eval);
std::string test_line(const EvalReport& eval);  // of the test data, at the end of a run

// Returns "checkpoint step 1200 1.6 MiB runs/x/checkpoints/step_00001200.h5"
std::string checkpoint_line(const CheckpointReport& checkpoint);

}  // namespace spire
