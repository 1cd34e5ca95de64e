// Tensors in memory in the place of a file, their values by formula, what writers take of them, and
// what a file has of them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/fail.h"
#include "engine/checkpoint/training_state.h"
#include "engine/weights/files/safetensors_reader.h"
#include "engine/weights/files/weight_writers.h"
#include "engine/weights/names/name_table.h"
#include "models/model.h"

namespace spire {

// u of tests/weights/record.py, FORMULA: element i of a tensor of that name, in [-1, 1).
inline double formula_number(const std::string& name, uint32_t i) {
  uint32_t x = 2166136261u;
  for (char byte : name) x = (x ^ static_cast<unsigned char>(byte)) * 16777619u;
  x += i;
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  x ^= x >> 16;
  return 2.0 * (x / 4294967296.0) - 1.0;
}

inline float formula_value(const std::string& name, const Shape& shape, uint32_t i) {
  double u = formula_number(name, i);
  if (shape.rank() >= 2 && shape[0] > 1)
    return static_cast<float>(u *
                              std::sqrt(3.0 / static_cast<double>(shape.elements() / shape[0])));
  if (name.ends_with("running_var")) return static_cast<float>(1.5 + u);
  return static_cast<float>(0.1 * u + (name.ends_with(".weight") ? 1.0 : 0.0));
}

class TensorsInMemory : public SavedTensors {
 public:
  std::vector<NamedTensor> tensors;

  std::vector<TensorGroup> groups() const override {
    TensorGroup group{weights_group, {}};
    for (const NamedTensor& tensor : tensors) group.tensors.push_back({tensor.name, tensor.shape});
    return {group};
  }
  void read(size_t, size_t tensor, int64_t begin, std::span<float> out) const override {
    std::copy_n(tensors.at(tensor).values.begin() + begin, out.size(), out.begin());
  }
  void add(const std::string& name, const Shape& shape) {
    tensors.push_back({name, shape, std::vector<float>(static_cast<size_t>(shape.elements()))});
    auto& values = tensors.back().values;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = formula_value(name, shape, static_cast<uint32_t>(i));
  }
};

// What a file with the names of a table would have, by formula.
inline std::shared_ptr<TensorsInMemory> foreign_tensors(const NameTable& table) {
  auto made = std::make_shared<TensorsInMemory>();
  for (const NamedParameter& parameter : table.parameters)
    for (const TensorPart& part : parameter.parts) made->add(part.name, part.shape);
  return made;
}

struct MadeModel {
  ModelConfig config;
  std::vector<Column> columns;
  int64_t classes = 5;

  Graph graph(int64_t batch = 1, bool training = false) const {
    return build_model(config, {}, {.columns = columns, .classes = classes, .batch = batch},
                       training);
  }
};

inline std::vector<Column> image_columns(int64_t side, int64_t channels = 3) {
  return {{"images", {side, side, channels}}, {"labels", {}, DType::i32}};
}
inline std::vector<Column> token_columns(int64_t length) {
  return {{"tokens", {length}, DType::i32}, {"targets", {length}, DType::i32}};
}

inline TensorToWrite to_write(const NamedTensor& tensor) {
  return {tensor.name, tensor.shape, [tensor](int64_t begin, std::span<float> out) {
            std::copy_n(tensor.values.begin() + begin, out.size(), out.begin());
          }};
}

inline std::vector<TensorToWrite> to_write(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorToWrite> all;
  for (const NamedTensor& tensor : tensors) all.push_back(to_write(tensor));
  return all;
}

// A tensor of the file.
inline std::vector<float> values_in(const SafetensorsReader& file, const std::string& name) {
  std::vector<TensorGroup> groups = file.groups();
  auto place = std::ranges::find(groups[0].tensors, name, &TensorEntry::name);
  require(place != groups[0].tensors.end(), "no tensor '{}'", name);
  std::vector<float> values(static_cast<size_t>(place->shape.elements()));
  file.read(0, static_cast<size_t>(place - groups[0].tensors.begin()), 0, values);
  return values;
}

}  // namespace spire
