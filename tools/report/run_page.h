// report.html: one run, or several over each other, as one page.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <spire/checkpoint.h>
#include <spire/run_config.h>

#include "engine/data/dataset.h"
#include "engine/inference/predictor.h"
#include "tools/report/run_files.h"

namespace spire {

// What a classifier finds in a dataset: counts by true class, and the answers that are most wrong.
struct WrongAnswer {
  int64_t sample = 0;            // of the test data, from 0
  size_t actual = 0, found = 0;  // classes
  double sure = 0;               // what softmax gives the class that was found
  std::string png = {};          // the sample as a file; empty: it is no image
};

// Rows of a confusion matrix: the samples of a class, by the class that the model finds.
struct ConfusionMatrix {
  std::vector<std::string> classes;          // names
  std::vector<int64_t> counts;               // (classes, classes), row: the true class
  std::string checkpoint;                    // of which model
  std::vector<WrongAnswer> most_wrong = {};  // the surest first, at most 16
};

// Returns counts and most_wrong of the matrix, without names. stop: ends it with
// Error(interrupted); null: nothing does. REQUIRES: the predictor's task is Task::classify, and the
// data's first column is the model's. Throws Error(data).
ConfusionMatrix confusion_of(Predictor& predictor, const Dataset& data, int64_t batch,
                             const std::atomic<bool>* stop = nullptr);

// Counts what a model finds in its run's test data. config: of the run. name: its name in messages.
// device: one word of the config's `devices`. stop: ends it with Error(interrupted); null: nothing
// does. say: receives notes on the device, as that of TrainedModelOptions. Throws as TrainedModel;
// Error(config) for a model that finds no classes, Error(data) for data that does not fit it.
ConfusionMatrix count_confusions(const Checkpoint& checkpoint, const RunConfig& config,
                                 const std::string& name, const std::string& device = "auto",
                                 const std::atomic<bool>* stop = nullptr,
                                 const std::function<void(std::string_view)>& say = {});

// The matrix as data of a page. REQUIRES: counts has classes x classes entries. With more than 32
// classes it has, instead of the counts, the pairs of classes that are most often taken for each
// other.
nlohmann::json confusion_json(const ConfusionMatrix& matrix);

// What views.report (engine/observe/page/report.js) draws. REQUIRES: at least one run. confusion:
// of the only run; null: the page says how to get one, if its task has classes.
nlohmann::json report_json(const std::vector<RunFiles>& runs,
                           const ConfusionMatrix* confusion = nullptr);
std::string report_html(const std::vector<RunFiles>& runs,
                        const ConfusionMatrix* confusion = nullptr);

// One line about a run: "done, step 400, epoch 0.52, best validation perplexity 11.17 at step 400".
std::string state_text(const RunFiles& run);

}  // namespace spire
