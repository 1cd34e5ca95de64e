// Runs of a whole config.
#include <memory>

#include "engine/c_api/handles.h"

namespace spire {
namespace {

class Callbacks : public Observer {
 public:
  Callbacks(const spire_train_options& options, std::atomic<bool>& stop)
      : options_(options), stop_(stop) {}

  void on_step(const StepReport& report) override {
    if (!options_.on_step) return;
    spire_step step{
        sizeof(spire_step), report.step,         report.samples_seen, report.epoch,      report.lr,
        report.loss,        report.metric.value, report.grad_norm,    report.loss_scale, 0};
    if (options_.on_step(options_.user, &step) != 0) stop_ = true;
  }

  void on_eval(const EvalReport& report) override {
    if (!options_.on_evaluation) return;
    spire_evaluation evaluation{sizeof(spire_evaluation), report.loss, report.metric.value,
                                report.samples};
    if (options_.on_evaluation(options_.user, &evaluation) != 0) stop_ = true;
  }

 private:
  const spire_train_options& options_;
  std::atomic<bool>& stop_;
};

spire_summary summary_of(const RunResult& result) {
  const RunSummary& from = result.summary;
  spire_summary to = {};
  to.exit_code = result.exit_code;
  to.steps = from.steps;
  to.epochs = from.epochs;
  to.train_loss = from.train_loss;
  to.evaluated = from.val.measured ? 1 : 0;
  if (from.val.measured) {
    to.loss = from.val.loss;
    to.metric = from.val.metric.value;
    to.best = from.val.best;
  }
  to.metric_name = to_string(from.val.metric.metric).data();  // a literal
  to.samples_per_second = from.samples_per_s;
  to.seconds = from.seconds;
  to.parameter_hash = from.parameter_hash.c_str();
  to.output = from.output.c_str();
  to.checkpoint = from.checkpoint.c_str();
  to.stopped_by = from.stopped_by.c_str();
  return to;
}

RunResult train_with(const spire_config& config, const spire_train_options& wanted) {
  spire_cancel own;
  spire_cancel& cancel = wanted.cancel ? *wanted.cancel : own;
  RunOptions options;
  options.overwrite = wanted.overwrite != 0;
  if (wanted.resume) options.resume = wanted.resume;
  options.defaulted_keys = defaulted_keys(config.resolved);
  if (wanted.data) options.data = data_of_c(wanted.data, "spire_train", "options->data");
  options.stop = &cancel.requested;
  Callbacks callbacks(wanted, cancel.requested);
  return train(config.resolved.config, options, callbacks);
}

}  // namespace
}  // namespace spire

spire_status spire_train(const spire_config* config, const spire_train_options* options,
                         spire_run** run) {
  return spire::call(__func__, {GIVEN(config), IF_GIVEN(options)}, [&] {
    auto made = std::make_unique<spire_run>();
    made->result = spire::train_with(*config, spire::whole(options));
    if (run) *run = made.release();
  });
}

spire_status spire_run_summary(const spire_run* run, spire_summary* summary) {
  return spire::call(__func__, {GIVEN(run), GIVEN(summary)},
                     [&] { spire::fill(summary, spire::summary_of(run->result)); });
}

void spire_run_destroy(spire_run* run) {
  delete run;
}
