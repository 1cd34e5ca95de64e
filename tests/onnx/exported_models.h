// One small run of each model on made-up data, and a state of it with random weights.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/checkpoint/training_state.h"
#include "engine/data/sample.h"

namespace spire {

constexpr int no_package = 77;  // exit code of a Python script that lacks one

struct ExportCase {
  std::string name;
  std::vector<std::string> words;  // of its config
};
void PrintTo(const ExportCase& model, std::ostream* out);
const std::vector<ExportCase>& export_cases();

// All that an export reads. Weights are random, also those that begin at 0 or 1, and so are running
// statistics: an error in any of them shows in the outputs.
struct ModelToExport {
  RunConfig config;
  SampleSpec spec;
  TrainingState state;
};
ModelToExport made_model(const std::vector<std::string>& words);

// `count` rows of the model's input: normal numbers, or tokens of the vocabulary.
std::vector<float> random_numbers(int64_t count, uint64_t seed);
std::vector<int32_t> random_tokens(int64_t count, int64_t vocabulary);

}  // namespace spire
