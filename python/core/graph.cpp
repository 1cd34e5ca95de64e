#include "python/core/graph.h"

#include <nanobind/stl/shared_ptr.h>

#include "engine/base/fail.h"

namespace spire::python {

nb::tuple tuple_of(const Shape& shape) {
  nb::list dims;
  for (int64_t dim : shape.dims()) dims.append(dim);
  return nb::tuple(dims);
}

namespace {

Metric metric_of(const std::string& text) {
  for (Metric metric : {Metric::accuracy, Metric::perplexity, Metric::psnr, Metric::rmse,
                        Metric::score, Metric::error})
    if (text == to_string(metric)) return metric;
  fail(Category::config,
       "Model: metric is '{}'; it is accuracy, perplexity, psnr, rmse, score or error", text);
}

// Calls `use` with the graph and the inputs as Python sees them, with the GIL.
template <typename Use>
auto lend(Graph& graph, const ModelInputs& inputs, PythonError& errors, const Use& use) {
  nb::gil_scoped_acquire gil;
  auto lent = std::make_shared<LentGraph>(graph);
  auto lent_inputs = std::make_shared<LentInputs>(lent, inputs);
  try {
    auto result = use(lent, lent_inputs);
    lent->take_back();
    return result;
  } catch (...) {
    lent->take_back();
    errors.keep();
  }
  fail(Category::config, "the function of the model raised an exception");
}

Value value_of(const nb::object& result) {
  LentValue value;
  if (!nb::try_cast(result, value))
    fail(Category::config, "the function of the model returned no spire.Value, but {}",
         nb::cast<std::string>(nb::repr(result.type())));
  return value.value;
}

// A function of a model may hold what holds the model: Python's collector of cycles sees both.
int visit_model(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  auto* model = nb::inst_ptr<PythonModel>(self);
  Py_VISIT(model->layers.ptr());
  if (model->loss) Py_VISIT(model->loss->ptr());
  return 0;
}

int clear_model(PyObject* self) {
  auto* model = nb::inst_ptr<PythonModel>(self);
  model->layers.reset();
  model->loss.reset();
  return 0;
}

PyType_Slot model_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit_model)},
                             {Py_tp_clear, reinterpret_cast<void*>(clear_model)},
                             {0, nullptr}};

void bind_values(nb::module_& module) {
  nb::class_<LentValue>(module, "Value", "A tensor of a model's graph.")
      .def_prop_ro(
          "shape", [](const LentValue& v) { return tuple_of(v.spec().shape); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("dtype",
                   [](const LentValue& v) { return std::string(to_string(v.spec().dtype)); })
      .def("__repr__", [](const LentValue& v) {
        return fmt::format("<spire.Value {} {}>", to_string(v.spec().shape),
                           to_string(v.spec().dtype));
      });
  nb::class_<LentInputs>(module, "Inputs",
                         "Inputs of a model: a Value (batch, row) for each column of the data.")
      .def_prop_ro("first", &LentInputs::first, "What the model reads.")
      .def("__getitem__", &LentInputs::column, nb::arg("column"))
      .def("__contains__", &LentInputs::has, nb::arg("column"))
      .def_prop_ro("batch", [](const LentInputs& i) { return i.get().batch(); })
      .def_prop_ro("classes", [](const LentInputs& i) { return i.get().classes(); });
}

}  // namespace

std::shared_ptr<const Model> model_of(const PythonModel& from,
                                      const std::shared_ptr<PythonError>& errors) {
  Model model;
  model.name = from.name;
  model.metric = metric_of(from.metric);
  const PythonModel* python = &from;
  model.layers = [python, errors](Graph& graph, const ModelInputs& inputs) {
    return lend(graph, inputs, *errors, [&](const auto& lent_graph, const auto& lent_inputs) {
      return value_of(python->layers(lent_graph, lent_inputs));
    });
  };
  if (from.loss)
    model.loss = [python, errors](Graph& graph, Value output, const ModelInputs& inputs) {
      lend(graph, inputs, *errors, [&](const auto& lent_graph, const auto& lent_inputs) {
        (*python->loss)(lent_graph, LentValue{lent_graph, output}, lent_inputs);
        return true;
      });
    };
  return std::make_shared<const Model>(std::move(model));
}

void bind_graph(nb::module_& module) {
  bind_values(module);
  nb::class_<LentGraph>(module, "Graph",
                        "Graph of a model. It is used only in the model's function.")
      .def_prop_ro("training", [](const LentGraph& g) { return g.get().training(); })
      .def(
          "add_loss",
          [](LentGraph& g, const LentValue& loss) { g.get().add_loss(loss.value_in(g)); },
          nb::arg("loss"), "Adds a loss, a float64 sum over samples.")
      .def(
          "mark_output",
          [](LentGraph& g, const std::string& name, const LentValue& value) {
            g.get().mark_output(name, value.value_in(g));
          },
          nb::arg("name"), nb::arg("value"));
  nb::class_<PythonModel>(module, "Model", nb::type_slots(model_slots),
                          "A model of one's own.\n\n"
                          "layers(graph, inputs) adds the layers and returns the output, a Value.\n"
                          "loss(graph, output, inputs), if given, adds the loss by one of the\n"
                          "losses of spire.layers; metric then says what its score means:\n"
                          "accuracy, perplexity, psnr, rmse, score or error. Both are called\n"
                          "several times, on any thread, and add the same layers each time.")
      .def(nb::init<nb::callable, std::optional<nb::callable>, std::string, std::string>(),
           nb::arg("layers"), nb::arg("loss") = nb::none(), nb::arg("metric") = "score",
           nb::arg("name") = "own");
}

}  // namespace spire::python
