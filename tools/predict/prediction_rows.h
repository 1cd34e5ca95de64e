// The rows of `trainer predict`: reads its inputs, formats predictions as text, one row per sample:
// a class with its probabilities, or values; and says how well they match the truth (the true class
// or values), for rows whose input has it.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spire/dataset.h>
#include <spire/run_config.h>
#include <spire/trained_model.h>

#include "tools/arguments.h"
#include "tools/output/streams.h"

namespace spire {

// The inputs of `trainer predict`: the run's test data, the user's own files, or prompts.
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

struct RowFormat {
  bool json = false;
  bool files = false;  // the inputs are files: rows have `input` and `row` instead of `sample`
  bool truth = false;  // rows have a column of the truth, even if the first has none
};

// CSV: a header, then "sample,class,name,probability,p_0,p_1,..." or "sample,value_0,..."; for
// files "input,row,class,...". With format.truth, or if the first row has a truth, the last column
// is truth (a class's name), or the last ones are truth_0,... Names are quoted as RFC 4180 says.
// JSON: a list of objects with the same keys. text() returns what was added since its last call,
// finish() the end.
class PredictionRows {
 public:
  PredictionRows(const SampleSpec& spec, ModelTask task, int64_t outputs, const RowFormat& format);

  // outputs: logits (classes) or values (K) of one sample.
  void add(const RowOrigin& origin, std::span<const float> outputs);
  std::string text();
  std::string finish();

 private:
  void begin(bool truth);
  std::string class_name(size_t index) const;
  void add_csv(const RowOrigin& origin, std::span<const double> numbers, size_t best);
  void add_json(const RowOrigin& origin, std::span<const double> numbers, size_t best);
  void add_truth_csv(const RowOrigin& origin);
  bool classes() const { return task_ == ModelTask::classify; }

  const SampleSpec& spec_;
  ModelTask task_;
  RowFormat format_;
  int64_t outputs_;
  bool first_ = true, truth_ = false;
  std::string text_;
};

// Returns exp(x_i) / sum_j exp(x_j), computed in fp64.
std::vector<double> softmax(std::span<const float> logits);

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
  // over all of them. These are the numbers of `trainer eval`, up to rounding. "" without rows.
  std::string text() const;

 private:
  ModelTask task_;
  bool binary_, plain_entropy_;
  int64_t rows_ = 0, right_ = 0, values_ = 0;
  double loss_ = 0, squares_ = 0;  // sums
};

}  // namespace spire
