// The page of a run, or of several over each other, from the files of their folders
// (docs/reports.md).
#pragma once
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spire/checkpoint.h>
#include <spire/run_config.h>

namespace spire {

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
  std::vector<WrongAnswer> most_wrong = {};  // those of which the model was most sure come first
};

// Counts what a model finds in its run's test data. config: of the run. name: its name in messages.
// device: one word of the config's `devices`. stop: ends it with Error(interrupted); null: nothing
// does. say: receives notes on the device, as that of TrainedModelOptions. Throws as TrainedModel;
// Error(config) for a model that finds no classes, Error(data) for data that does not fit it.
ConfusionMatrix count_confusions(const Checkpoint& checkpoint, const RunConfig& config,
                                 const std::string& name, const std::string& device = "auto",
                                 const std::atomic<bool>* stop = nullptr,
                                 const std::function<void(std::string_view)>& say = {});

// How every page begins that Spire writes: of a report, a range test, a benchmark, a sweep.
std::string_view page_beginning_of_spire();

struct ReportedRun {
  std::filesystem::path directory;
  std::string label;  // its last name; the whole path where runs of a page share that
  std::string state;  // one line: "done after 400 steps (0.52 epochs), best perplexity 11.17 ..."
};

// One thread at a time calls the methods of an object.
class RunReport {
 public:
  // Reads the folders of runs, finished or running; at least one. Throws Error(config) for a folder
  // that is no run's.
  explicit RunReport(const std::vector<std::string>& directories);
  ~RunReport();
  RunReport(RunReport&&) noexcept;
  RunReport& operator=(RunReport&&) noexcept;

  std::vector<ReportedRun> runs() const;
  // Returns a page in UTF-8 that needs no network. confusion: of the only run; null:
  // the page says how to get one, if its task has classes.
  std::string html(const ConfusionMatrix* confusion = nullptr) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire
