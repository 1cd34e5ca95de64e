// Inputs of `trainer predict`: the run's test data, files of the user, or a prompt.
#pragma once
#include "engine/inference/input_rows.h"
#include "engine/inference/predictor.h"
#include "tools/arguments.h"
#include "tools/output/streams.h"

namespace spire::tool {

class PredictionInputs {
 public:
  // config: of the run, with its test data. classes: those of the data must be those of the spec.
  // Adds the files that are read to `files`. Warns as --log-level allows. Throws Error(config), and
  // Error(data) for missing inputs unless --on-error skips them.
  PredictionInputs(const RunConfig& config, const SampleSpec& spec, bool classes,
                   const Arguments& arguments, InputFiles& files);

  InputRows& rows() { return *rows_; }
  // Warns of inputs that were left out. Throws Error(data) where no row was read.
  void finish(int64_t read) const;

 private:
  void take_problem(const std::string& problem);
  void warn(const std::string& text) const;

  bool skip_, silent_;
  int64_t skipped_ = 0;
  std::unique_ptr<InputRows> rows_;
};

// Returns --prompt, the content of --prompt-file (at most 1 MiB) without its last line end, or one
// line end. Throws Error(data).
std::string read_prompt(const PredictArguments& arguments);

}  // namespace spire::tool
