// The Python module spire._core. The package `spire` around it is in python/spire.
#include <spire/devices.h>

#include "python/core/bindings.h"

namespace spire::python {
namespace {

void bind_devices(nb::module_& module) {
  nb::class_<ListedDevice>(module, "Device",
                           "A device of this machine as it was when it was listed.")
      .def_ro("id", &ListedDevice::id,
              "'cpu', 'cuda:1'; '': CUDA does not show it to this process.")
      .def_ro("host_number", &ListedDevice::host_number, "nvidia-smi's; -1: a CPU, or unknown.")
      .def_ro("name", &ListedDevice::name)
      .def_ro("uuid", &ListedDevice::uuid)
      .def_ro("pci_bus_id", &ListedDevice::pci_bus_id)
      .def_ro("memory_total", &ListedDevice::memory_total, "Bytes; None: unknown.")
      .def_ro("memory_used", &ListedDevice::memory_used)
      .def_ro("memory_free", &ListedDevice::memory_free)
      .def_ro("utilization", &ListedDevice::utilization, "0..1; None: unknown.")
      .def_ro("problem", &ListedDevice::problem, "Why it does not work; '': it does.");
  module.def("devices", &list_devices, nb::call_guard<nb::gil_scoped_release>(),
             "The devices of this machine as they are now: the CPU, then all GPUs, also those that "
             "this process may not use.");
}

}  // namespace
}  // namespace spire::python

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
