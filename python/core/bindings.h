// Parts of the Python module spire._core, and what they share.
#pragma once
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <spire/dataset.h>
#include <spire/load_config.h>

namespace spire::python {

namespace nb = nanobind;

void bind_errors(nb::module_& module);
void bind_reports(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_layers(nb::module_& module);
void bind_train(nb::module_& module);
void bind_trainer(nb::module_& module);

// A config as Python hands it over.
struct GivenConfig {
  std::string file;                    // a YAML file; empty: `text`
  std::string text;                    // YAML
  std::vector<std::string> overrides;  // "key.path=value"
};

inline ResolvedConfig resolve(const GivenConfig& given) {
  if (!given.file.empty()) return load_config({given.file}, given.overrides);
  return parse_config({{"config", given.text, given.text.find('\n') != std::string::npos}},
                      given.overrides);
}

// (column, array): what Python hands over, in the order of the columns.
using NamedArrays = std::vector<std::pair<std::string, nb::ndarray<nb::ro>>>;

// Views of the arrays, which must outlive them. Throws Error(data) for other dtypes than those of
// Array, and for other devices.
std::vector<Array> arrays_of(const NamedArrays& named);

// Keeps the first exception of Python code that the engine calls, since the engine turns what it
// meets into an Error. All methods are thread-safe.
class PythonError {
 public:
  // Call it in a handler.
  void keep();
  void rethrow_if_any();

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

// Runs `work` on a thread of its own without the GIL, while the calling thread looks for signals:
// what a handler of Python raises (KeyboardInterrupt) sets `stop`, and is thrown when `work` has
// returned. An exception in `errors` comes before what `work` throws.
void run_interruptible(const std::function<void()>& work, std::atomic<bool>& stop,
                       PythonError& errors);

}  // namespace spire::python
