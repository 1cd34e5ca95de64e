// Finds the weights of a model in a file, under any names, and reads them.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/graph/graph.h"
#include "engine/weights/files/weight_file.h"
#include "engine/weights/names/name_table.h"

namespace spire {

// A parameter with the tensors of the file that it consists of.
struct FoundParameter {
  NamedParameter parameter;
  std::vector<size_t> tensors;  // of each of its parts
};

// A parameter that starts as in any new run.
struct NewParameter {
  std::string name;
  Shape shape;
  std::string tensor;          // the file's, by its name there; empty: the file has none
  std::optional<Shape> found;  // and its shape
  bool skipped = false;        // by init.skip
};

class WeightMatch {
 public:
  // graph: of the model, from build_model() for evaluation, before any pass. `file` outlives this.
  // Throws Error(checkpoint) where init.strict demands more than the file has, where nothing of it
  // fits, where names: auto fits two layouts, or where the file's model computes something else;
  // Error(config) for entries of init.map and init.skip that name nothing, and for names that the
  // model does not have.
  WeightMatch(const WeightFile& file, const InitConfig& init, const ModelConfig& model,
              const Graph& graph);

  WeightNames names() const { return names_; }
  const std::vector<FoundParameter>& found() const { return found_; }
  const std::vector<NewParameter>& fresh() const { return fresh_; }
  const std::vector<std::string>& left_over() const { return left_over_; }  // of the file

  // Fills `values` (row-major, of the parameter's shape) and returns true; false for one that is
  // not in the file. Throws what reading throws.
  bool read(const std::string& parameter, std::span<float> values) const;

  // "62 tensors of FILE (torchvision); new: head.weight (10, 64) where the file has (5, 64)"
  std::string text() const;

 private:
  void check_computation(const Graph& graph);  // heads and epsilon, as far as the file has them
  void require_all() const;                    // init.strict

  const WeightFile& file_;
  WeightNames names_ = WeightNames::spire;
  std::vector<FoundParameter> found_;
  std::vector<NewParameter> fresh_;
  std::vector<std::string> left_over_;
  bool unchecked_ = false;  // heads and epsilon of a model with attention
};

}  // namespace spire
