#include "tools/report/run_report.h"

#include <spire/error.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/observe/page/page.h"
#include "engine/run/run_setup.h"
#include "engine/run/trained_data.h"
#include "tools/report/confusion.h"
#include "tools/report/run_page.h"

namespace spire {
namespace {

constexpr int64_t rows_at_a_time = 64;

}  // namespace

ConfusionMatrix count_confusions(const Checkpoint& checkpoint, const RunConfig& config,
                                 const std::string& name, const std::string& device,
                                 const std::atomic<bool>* stop,
                                 const std::function<void(std::string_view)>& say) {
  const LoadedCheckpoint& loaded = *checkpoint.loaded();
  Predictor predictor(loaded.state, *loaded.tensors,
                      {.device = device, .batch = rows_at_a_time, .settings = &config, .say = say});
  if (predictor.task() != Task::classify)
    fail(Category::config,
         "--evaluate counts classes, and this model finds none; trainer eval --checkpoint {} "
         "measures it",
         name);
  DatasetPair data = open_trained_data(config, predictor.spec(), name, true);
  ConfusionMatrix matrix = confusion_of(predictor, *data.test, rows_at_a_time, stop);
  matrix.checkpoint = checkpoint.path().filename().string();
  const auto& names = predictor.spec().class_names;
  auto classes = static_cast<size_t>(predictor.output_shape().elements());
  for (size_t i = 0; i < classes; ++i)
    matrix.classes.push_back(i < names.size() ? names[i] : std::to_string(i));
  return matrix;
}

std::string_view page_beginning_of_spire() {
  return page_beginning();
}

struct RunReport::Impl {
  std::vector<RunFiles> runs;
};

RunReport::RunReport(const std::vector<std::string>& directories)
    : impl_(std::make_unique<Impl>()) {
  require(!directories.empty(), "a report of no run");
  for (const std::string& directory : directories) impl_->runs.push_back(read_run_files(directory));
  tell_apart(impl_->runs);
}

RunReport::~RunReport() = default;
RunReport::RunReport(RunReport&&) noexcept = default;
RunReport& RunReport::operator=(RunReport&&) noexcept = default;

std::vector<ReportedRun> RunReport::runs() const {
  std::vector<ReportedRun> runs;
  for (const RunFiles& run : impl_->runs)
    runs.push_back({run.directory, run.label, state_text(run)});
  return runs;
}

std::string RunReport::html(const ConfusionMatrix* confusion) const {
  return report_html(impl_->runs, confusion);
}

}  // namespace spire
