// Initial values of weights, for the argument `initialize` of layers.
#include "python/core/layer_arguments.h"

namespace spire::python {

void bind_initializers(nb::module_& layers) {
  nb::class_<PythonInitializer>(layers, "Initializer", "Initial values of a weight.")
      .def("__repr__", [](const PythonInitializer& i) { return "spire.layers." + i.text; });
  auto define = [&](const char* name, const char* argument, auto number, auto make,
                    const char* help) {
    layers.def(
        name,
        [name, make](decltype(number) value) {
          return PythonInitializer{make(value), fmt::format("{}({})", name, value)};
        },
        nb::arg(argument), help);
  };
  define("kaiming_uniform", "fan_in", int64_t{}, kaiming_uniform, "uniform(sqrt(6 / fan_in))");
  define("kaiming_normal", "fan_out", int64_t{}, kaiming_normal, "normal(sqrt(2 / fan_out))");
  define("linear_uniform", "fan_in", int64_t{}, linear_uniform,
         "uniform(1 / sqrt(fan_in)), if no relu follows");
  define("uniform", "bound", float{}, uniform, "Uniform in [-bound, bound).");
  define("normal", "deviation", double{}, normal, "Mean 0, and this standard deviation.");
  define("constant", "value", float{}, constant, "One value everywhere.");
}

}  // namespace spire::python
