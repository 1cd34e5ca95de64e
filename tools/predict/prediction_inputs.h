// Inputs of `trainer predict`: the test data of the checkpoint's run, files of the user, or a
// prompt.
#pragma once
#include "engine/inference/input_rows.h"
#include "engine/inference/predictor.h"
#include "tools/arguments.h"
#include "tools/output/text_output.h"

namespace spire::tool {

// Rows to predict for, with the handling of bad inputs (--on-error).
class PredictionInputs {
 public:
  // config: of the run; names its test data. classes: the model classifies, so the classes of the
  // data must be those of the spec. Adds every file that is read to `files`. Warnings and notes go
  // to stderr as --log-level allows. Throws Error(config), and Error(data) for missing inputs
  // unless
  // --on-error skips them.
  PredictionInputs(const RunConfig& config, const SampleSpec& spec, bool classes,
                   const Arguments& arguments, InputFiles& files);

  InputRows& rows() { return *rows_; }
  // Warns of the inputs that were left out. Call it after the last row; `read` is the number of
  // rows. Throws Error(data) when that is 0.
  void finish(int64_t read) const;

 private:
  void take_problem(const std::string& problem);
  void warn(const std::string& text) const;

  bool skip_, silent_;
  int64_t skipped_ = 0;
  std::unique_ptr<InputRows> rows_;
};

// Returns the text that a language model continues: --prompt; or the content of --prompt-file (-:
// stdin), at most 1 MiB, without its last line end; or else one line end. Throws Error(data), which
// names the file, where it cannot be read.
std::string read_prompt(const PredictArguments& arguments);

}  // namespace spire::tool
