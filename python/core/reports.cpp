// What runs and trainers report, as classes of read-only attributes.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string_view.h>

#include <spire/observer.h>
#include <spire/train.h>
#include <spire/trainer.h>

#include "python/core/bindings.h"

namespace spire::python {
namespace {

void bind_values(nb::module_& module) {
  nb::class_<MetricValue>(module, "MetricValue", "A metric, as accuracy or perplexity.")
      .def_prop_ro("name", [](const MetricValue& m) { return std::string(to_string(m.metric)); })
      .def_ro("value", &MetricValue::value)
      .def("__float__", [](const MetricValue& m) { return m.value; })
      .def("__repr__", [](const MetricValue& m) { return metric_text(m); });
  nb::class_<StepTimes>(module, "StepTimes", "Parts of a step, in seconds.")
      .def_ro("data", &StepTimes::data)
      .def_ro("copy", &StepTimes::copy)
      .def_ro("forward", &StepTimes::forward)
      .def_ro("backward", &StepTimes::backward)
      .def_ro("reduce", &StepTimes::reduce)
      .def_ro("update", &StepTimes::update)
      .def_ro("replicate", &StepTimes::replicate)
      .def_ro("other", &StepTimes::other);
}

void bind_steps(nb::module_& module) {
  nb::class_<StepReport>(module, "StepReport", "A step of a run.")
      .def_ro("step", &StepReport::step, "Optimizer steps done: 1 after the first.")
      .def_ro("total_steps", &StepReport::total_steps)
      .def_ro("epoch", &StepReport::epoch, "2.5 is the middle of the third epoch.")
      .def_ro("loss", &StepReport::loss)
      .def_ro("metric", &StepReport::metric, "Of this step's batch.")
      .def_ro("epoch_loss", &StepReport::epoch_loss)
      .def_ro("epoch_metric", &StepReport::epoch_metric)
      .def_ro("lr", &StepReport::lr)
      .def_ro("grad_norm", &StepReport::grad_norm, "Before clipping.")
      .def_ro("loss_scale", &StepReport::loss_scale)
      .def_ro("samples_per_s", &StepReport::samples_per_s)
      .def_ro("samples_seen", &StepReport::samples_seen)
      .def_ro("step_ms", &StepReport::step_ms)
      .def_ro("times", &StepReport::times)
      .def_ro("eta_seconds", &StepReport::eta_seconds);
  nb::class_<StepResult>(module, "StepResult", "A step of a Trainer.")
      .def_ro("step", &StepResult::step, "1 after the first.")
      .def_ro("samples", &StepResult::samples)
      .def_ro("lr", &StepResult::lr)
      .def_ro("loss", &StepResult::loss, "Mean over the samples.")
      .def_ro("metric", &StepResult::metric)
      .def_ro("grad_norm", &StepResult::grad_norm, "Before clipping.")
      .def_ro("loss_scale", &StepResult::loss_scale)
      .def_ro("skipped", &StepResult::skipped, "fp16: the gradients overflowed.")
      .def_ro("times", &StepResult::times);
}

void bind_evaluations(nb::module_& module) {
  nb::class_<EvalReport>(module, "EvalReport", "An evaluation of a run.")
      .def_ro("step", &EvalReport::step)
      .def_ro("epoch", &EvalReport::epoch)
      .def_ro("loss", &EvalReport::loss)
      .def_ro("metric", &EvalReport::metric)
      .def_ro("samples", &EvalReport::samples)
      .def_ro("seconds", &EvalReport::seconds)
      .def_ro("best", &EvalReport::best, "True for the best one of the run so far.")
      .def_ro("others", &EvalReport::others, "The metrics that eval.metrics adds.");
  nb::class_<EvaluationResult>(module, "EvaluationResult", "An evaluation of a Trainer.")
      .def(nb::init<>())
      .def_ro("loss", &EvaluationResult::loss)
      .def_ro("metric", &EvaluationResult::metric)
      .def_ro("samples", &EvaluationResult::samples);
  nb::class_<CheckpointReport>(module, "CheckpointReport", "A checkpoint that was written.")
      .def_ro("step", &CheckpointReport::step)
      .def_ro("path", &CheckpointReport::path)
      .def_ro("bytes", &CheckpointReport::bytes);
}

void bind_run(nb::module_& module) {
  nb::class_<ValidationSummary>(module, "ValidationSummary", "The last evaluation of a run.")
      .def_ro("loss", &ValidationSummary::loss)
      .def_ro("metric", &ValidationSummary::metric)
      .def_ro("best", &ValidationSummary::best, "Best value of the metric in the run.")
      .def_ro("measured", &ValidationSummary::measured, "False if the run never evaluated.");
  nb::class_<StartInfo>(module, "StartInfo", "Facts about a run at its start.")
      .def_ro("model", &StartInfo::model)
      .def_ro("task", &StartInfo::task)
      .def_ro("batch_size", &StartInfo::batch_size, "Samples per tower and step.")
      .def_ro("towers", &StartInfo::towers)
      .def_ro("global_batch", &StartInfo::global_batch, "Samples per step.")
      .def_ro("lr", &StartInfo::lr)
      .def_ro("parameters", &StartInfo::parameters)
      .def_ro("train_samples", &StartInfo::train_samples)
      .def_ro("test_samples", &StartInfo::test_samples)
      .def_ro("steps_per_epoch", &StartInfo::steps_per_epoch)
      .def_ro("total_steps", &StartInfo::total_steps)
      .def_ro("precision", &StartInfo::precision)
      .def_ro("output", &StartInfo::output);
  nb::class_<RunSummary>(module, "RunSummary", "Outcome of a run, as in its summary.json.")
      .def_ro("steps", &RunSummary::steps)
      .def_ro("epochs", &RunSummary::epochs)
      .def_ro("train_loss", &RunSummary::train_loss)
      .def_ro("val", &RunSummary::val)
      .def_ro("samples_per_s", &RunSummary::samples_per_s)
      .def_ro("times", &RunSummary::times)
      .def_ro("parameter_hash", &RunSummary::parameter_hash)
      .def_ro("devices", &RunSummary::devices)
      .def_ro("towers", &RunSummary::towers)
      .def_ro("seconds", &RunSummary::seconds)
      .def_ro("peak_memory_bytes", &RunSummary::peak_memory_bytes)
      .def_ro("verdict", &RunSummary::verdict, "What the run's time went into; a line each.")
      .def_ro("stopped_by", &RunSummary::stopped_by, "Empty: it reached its end.")
      .def_ro("output", &RunSummary::output, "The run's folder.")
      .def_ro("checkpoint", &RunSummary::checkpoint, "Path of the last one; empty: none.")
      .def_ro("metrics", &RunSummary::metrics);
  nb::class_<RunResult>(module, "Run", "A run that has ended.")
      .def_ro("exit_code", &RunResult::exit_code, "0, or 75 if it was ended early.")
      .def_ro("summary", &RunResult::summary);
}

}  // namespace

void bind_reports(nb::module_& module) {
  bind_values(module);
  bind_steps(module);
  bind_evaluations(module);
  bind_run(module);
}

}  // namespace spire::python
