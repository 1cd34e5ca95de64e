// Runs of a whole config, and the models that they have trained.
#include <array>
#include <mutex>
#include <numeric>

#include <spire/train.h>
#include <spire/trained_model.h>

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

class PythonTrainedModel {
 public:
  PythonTrainedModel(const std::string& checkpoint, const std::string& device, int64_t batch)
      : model_(opened(checkpoint, {.device = device, .batch = batch})) {}

  // rows: dense, of the first column.
  Outputs predict(const NamedArrays& rows) {
    Array array = arrays_of(rows).at(0);
    int64_t count = array.shape.rank() > 0 ? array.shape[0] : 0;
    std::vector<float> outputs(static_cast<size_t>(count * model_.output_shape().elements()));
    {
      nb::gil_scoped_release released;
      std::lock_guard one(mutex_);  // a TrainedModel is used by one thread at a time
      std::vector<std::byte> inputs = converted(array, count);
      model_.predict(inputs.data(), count, outputs);
    }
    return outputs_of(std::move(outputs), count, model_.output_shape());
  }

  const TrainedModel& get() const { return model_; }

 private:
  static TrainedModel opened(const std::string& checkpoint, const TrainedModelOptions& options) {
    nb::gil_scoped_release released;
    return TrainedModel(find_checkpoint(checkpoint, "", CheckpointChoice::best, {}), options);
  }

  // In the model's dtype; tokens are in its vocabulary.
  std::vector<std::byte> converted(Array array, int64_t count) const {
    if (count < 1) fail(Category::config, "predict(): there are no rows");
    const SampleSpec& data = model_.data();
    const Column& column = data.columns.front();
    Shape expected = shape_of_rows(count, column.shape);
    if (array.shape != expected)
      fail(Category::config, "column '{}': the shape of its array is {}; it must be {}",
           column.name, to_string(array.shape), to_string(expected));
    if (column.name == "features") {  // sequences, too
      array.shape = Shape({count, column.shape.elements()});
      array.strides.clear();
    }
    auto rows = array_dataset({array}, {.classes = data.find("labels") ? 0 : data.classes},
                              {.dtype = column.dtype});
    std::vector<std::byte> inputs(static_cast<size_t>(count) * column.row_bytes());
    std::vector<int64_t> all(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    std::byte* first = inputs.data();
    rows->read(all, 0, {&first, 1});
    return inputs;
  }

  std::mutex mutex_;
  TrainedModel model_;
};

void bind_trained_model(nb::module_& module) {
  using Model = PythonTrainedModel;
  nb::class_<Model>(module, "TrainedModel")
      .def(nb::init<const std::string&, const std::string&, int64_t>(), nb::arg("checkpoint"),
           nb::arg("device"), nb::arg("batch"))
      .def("predict", &Model::predict, nb::arg("rows"))
      .def_prop_ro(
          "columns",
          [](const Model& model) {
            nb::dict columns;
            for (const Column& column : model.get().data().columns)
              columns[column.name.c_str()] = tuple_of(column.shape);
            return columns;
          },
          "{name: shape of a sample} of the data; the model reads the first.")
      .def_prop_ro(
          "normalization",
          [](const Model& model) {
            const Normalization& known = model.get().data().normalization;
            return std::pair(known.mean, known.stddev);
          },
          "(mean, stddev) of the channels or features, by which the model's inputs were "
          "standardized; empty: they were not.")
      .def_prop_ro(
          "task",
          [](const Model& model) {
            constexpr std::array words = {"classify", "regress", "predict_tokens", "reconstruct",
                                          "segment"};
            return words.at(static_cast<size_t>(model.get().task()));
          },
          "classify, regress, predict_tokens, reconstruct or segment.")
      .def_prop_ro("classes", [](const Model& model) { return model.get().data().classes; })
      .def_prop_ro(
          "class_names", [](const Model& model) { return model.get().data().class_names; },
          "Empty if they are unknown.")
      .def_prop_ro("device", [](const Model& model) { return model.get().device(); })
      .def_prop_ro(
          "output_shape", [](const Model& model) { return tuple_of(model.get().output_shape()); },
          "Of one row.");
}

}  // namespace

void bind_train(nb::module_& module) {
  nb::class_<GivenConfig>(module, "Config", "A config as text or file.")
      .def(nb::init<std::string, std::string, std::vector<std::string>>(), nb::arg("file"),
           nb::arg("text"), nb::arg("overrides"));
  module.def("train", &train_arrays, nb::arg("config"), nb::arg("data"), nb::arg("test"),
             nb::arg("classes"), nb::arg("model").none(), nb::arg("callbacks"),
             nb::arg("overwrite"), nb::arg("resume").none());
  bind_trained_model(module);
}

}  // namespace spire::python
