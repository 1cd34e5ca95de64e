// Reads files of a user as input of a model, in tests.
#pragma once
#include <cstring>

#include <spire/trained_model.h>

#include "engine/base/fail.h"
#include "tests/data/test_files.h"

namespace spire {

// All rows with their origins, and the problems and notes that were reported.
struct ReadInputs {
  std::vector<std::vector<float>> rows;
  std::vector<RowOrigin> origins;
  std::vector<std::string> problems, notes;
};

// Reads in batches of `batch`. stop: a problem ends the reading with Error(data).
inline ReadInputs read_inputs(const std::vector<std::string>& words, const SampleSpec& spec,
                              const DataConfig& config, bool stop = true, int64_t batch = 3) {
  ReadInputs result;
  InputReport report = {.problem =
                            [&](const std::string& text) {
                              if (stop) fail(Category::data, "{}", text);
                              result.problems.push_back(text);
                            },
                        .note = [&](const std::string& text) { result.notes.push_back(text); }};
  auto rows = open_inputs(list_inputs(words, spec, report), spec, config, report);
  size_t row_bytes = spec.columns[0].row_bytes();
  auto numbers = static_cast<size_t>(spec.columns[0].shape.elements());
  std::vector<std::byte> memory(static_cast<size_t>(batch) * row_bytes);
  while (true) {
    std::vector<RowOrigin> origins = rows->read(batch, memory.data());
    if (origins.empty()) return result;
    for (size_t i = 0; i < origins.size(); ++i) {
      std::vector<float>& row = result.rows.emplace_back(numbers);
      copy_floats(memory.data() + i * row_bytes, spec.columns[0].dtype, row);
      result.origins.push_back(origins[i]);
    }
  }
}

}  // namespace spire
