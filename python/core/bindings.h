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

// Returns views of the arrays, which must outlive the views. Throws Error(data) for dtypes that
// Array lacks, too many axes, and memory that is neither the host's nor CUDA's.
std::vector<Array> arrays_of(const NamedArrays& named);

using Outputs = nb::ndarray<nb::numpy, float, nb::c_contig>;

// Arrays of NumPy: of memory that `owner` keeps; of numbers that they take; of `rows` outputs.
Outputs numpy_of(float* values, const Shape& shape, nb::handle owner);
Outputs numpy_of(std::vector<float> values, const Shape& shape);
Outputs outputs_of(std::vector<float> values, int64_t rows, const Shape& row);
Shape shape_of_rows(int64_t rows, const Shape& row);

// Keeps the first exception that Python code called by the engine raises, since the engine turns
// every exception into an Error. All methods are thread-safe.
class PythonError {
 public:
  // Keeps the exception that is being handled: call it in a catch block.
  void keep();
  void rethrow_if_any();

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

// Runs `work` on a new thread without the GIL, while the calling thread checks for signals. If a
// signal handler of Python raises (KeyboardInterrupt), sets `stop`, and throws that exception when
// `work` has returned. Throws an exception kept in `errors` rather than what `work` throws.
void run_interruptible(const std::function<void()>& work, std::atomic<bool>& stop,
                       PythonError& errors);

}  // namespace spire::python
