// The inputs of `trainer predict`: the run's test data, the user's own files, or prompts.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <spire/trained_model.h>

#include "tools/arguments.h"
#include "tools/output/streams.h"

namespace spire {

class PredictionInputs {
 public:
  // config: that of the run, which names the test data. classes: whether the data's classes must be
  // those of the spec. all_test: as open_test_rows() has it. Adds to `files` all files that it
  // reads. Prints warnings if --log-level allows. Throws Error(config), and Error(data) for missing
  // inputs unless --on-error is skip.
  PredictionInputs(const RunConfig& config, const SampleSpec& spec, bool classes,
                   const Arguments& arguments, bool all_test, InputFiles& files);

  InputRows& rows() { return *rows_; }
  // Call it for a row whose outputs are not finite: throws Error(diverged), or with --on-error skip
  // warns that the row is left out.
  void take_diverged(const RowOrigin& origin);
  // Warns of inputs that were left out. read: number of rows read; throws Error(data) if it is 0.
  void finish(int64_t read) const;
  // Prints the text of a TruthSummary, if --log-level allows.
  void tell(const std::string& truth) const;

 private:
  void take_problem(const std::string& problem);
  void warn(const std::string& text) const;

  bool skip_, silent_;
  int64_t skipped_ = 0;
  std::unique_ptr<InputRows> rows_;
};

// Returns the content of --prompt-file (at most 1 MiB) without its last newline, or, if it is not
// given, a newline. Throws Error(data).
std::string read_prompt(const PredictArguments& arguments);

// Reads a file (at most 64 MiB) of prompts: one a line, without its end; or, if its name ends with
// .jsonl, an object {"prompt": "text"} a line, whose other members are ignored. Empty lines are
// left out. Throws Error(data) that names the file and the line.
std::vector<std::string> read_prompts(const std::filesystem::path& path);

}  // namespace spire
