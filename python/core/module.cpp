// The Python module spire._core. The package `spire` around it is in python/spire.
#include "python/core/bindings.h"

NB_MODULE(_core, module) {
  module.doc() = "Compiled part of Spire; use the package spire.";
  nanobind::set_leak_warnings(false);  // of what a program still holds at its end
  module.attr("__version__") = SPIRE_VERSION;
  spire::python::bind_errors(module);
  spire::python::bind_devices(module);
  spire::python::bind_reports(module);
  spire::python::bind_graph(module);
  spire::python::bind_layers(module);
  spire::python::bind_train(module);
  spire::python::bind_trainer(module);
}
