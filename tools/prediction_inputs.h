// What `trainer predict` predicts for: the test data of the checkpoint's run, or files of the user.
#pragma once
#include "engine/inference/input_rows.h"
#include "engine/inference/predictor.h"
#include "tools/arguments.h"
#include "tools/files_read.h"

namespace spire::tool {

class PredictionInputs {
 public:
  // config: of the run, for its test data, and whether that is judged by classes, which then must
  // be those of the spec. Warnings and notes go to stderr as --log-level has it. What is read is
  // added to `files`. Throws Error(config), and Error(data) for inputs that are not there, unless
  // --on-error skips them.
  PredictionInputs(const RunConfig& config, const SampleSpec& spec, bool classes,
                   const Arguments& arguments, FilesRead& files);

  InputRows& rows() { return *rows_; }
  // Behind the last row: how many inputs were left out. Throws Error(data) when `read`, the number
  // of rows, is 0.
  void finish(int64_t read) const;

 private:
  void take_problem(const std::string& problem);
  void warn(const std::string& text) const;

  bool skip_, silent_;
  int64_t skipped_ = 0;
  std::unique_ptr<InputRows> rows_;
};

}  // namespace spire::tool
