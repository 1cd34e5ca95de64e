// Runs of a whole config.
#include <spire/train.h>

#include "python/core/graph.h"

namespace spire::python {
namespace {

// Calls the methods of objects of Python, which are asked for once; one that returns False, or
// raises, ends the run.
class Callbacks : public Observer {
 public:
  Callbacks(const nb::list& objects, std::atomic<bool>& stop, PythonError& errors)
      : stop_(stop), errors_(errors) {
    for (nb::handle object : objects)
      for (const char* event : {"on_start", "on_step", "on_eval", "on_test", "on_checkpoint",
                                "on_note", "on_warning", "on_end"})
        if (nb::hasattr(object, event)) handlers_[event].push_back(object.attr(event));
  }

  void on_start(const StartInfo& start) override { call("on_start", start); }
  void on_step(const StepReport& step) override { call("on_step", step); }
  void on_eval(const EvalReport& eval) override { call("on_eval", eval); }
  void on_test(const EvalReport& eval) override { call("on_test", eval); }
  void on_checkpoint(const CheckpointReport& report) override { call("on_checkpoint", report); }
  void on_note(std::string_view text) override { call("on_note", std::string(text)); }
  void on_warning(std::string_view text) override { call("on_warning", std::string(text)); }
  void on_end(const RunSummary& summary) override { call("on_end", summary); }

 private:
  template <typename Report>
  void call(const std::string& event, const Report& report) {
    auto found = handlers_.find(event);
    if (found == handlers_.end()) return;
    nb::gil_scoped_acquire gil;
    try {
      nb::object argument = nb::cast(report, nb::rv_policy::copy);
      for (const nb::object& handler : found->second)
        if (handler(argument).ptr() == Py_False) stop_ = true;
    } catch (...) {
      errors_.keep();
      stop_ = true;
    }
  }

  std::map<std::string, std::vector<nb::object>> handlers_;
  std::atomic<bool>& stop_;
  PythonError& errors_;
};

RunResult train_arrays(const GivenConfig& config, const NamedArrays& data, const NamedArrays& test,
                       int64_t classes, const PythonModel* model, const nb::list& callbacks,
                       bool overwrite, const std::optional<std::string>& resume) {
  ResolvedConfig resolved = resolve(config);
  auto errors = std::make_shared<PythonError>();
  std::atomic<bool> stop = false;
  RunOptions options;
  options.overwrite = overwrite;
  options.resume = resume;
  options.defaulted_keys = defaulted_keys(resolved);
  if (!data.empty())
    options.data = array_source(arrays_of(data), arrays_of(test), {.classes = classes});
  if (model) options.model = model_of(*model, errors);
  options.stop = &stop;
  Callbacks observer(callbacks, stop, *errors);
  for (const std::string& warning : resolved.warnings) observer.on_warning(warning);
  RunResult result;
  run_interruptible([&] { result = train(resolved.config, options, observer); }, stop, *errors);
  return result;
}

}  // namespace

void bind_train(nb::module_& module) {
  nb::class_<GivenConfig>(module, "Config", "A config as text or file.")
      .def(nb::init<std::string, std::string, std::vector<std::string>>(), nb::arg("file"),
           nb::arg("text"), nb::arg("overrides"));
  module.def("train", &train_arrays, nb::arg("config"), nb::arg("data"), nb::arg("test"),
             nb::arg("classes"), nb::arg("model").none(), nb::arg("callbacks"),
             nb::arg("overwrite"), nb::arg("resume").none());
}

}  // namespace spire::python
