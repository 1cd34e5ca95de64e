// Predictions as text: classes with their probabilities, or values; a row a sample.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "engine/data/sample.h"
#include "engine/inference/input_rows.h"
#include "engine/inference/predictor.h"

namespace spire::tool {

// Which members a row has, and how they are written.
struct RowFormat {
  bool json = false;
  bool files = false;  // rows of files: input and row, in the place of sample
};

// CSV: a header, then "sample,class,name,probability,p_0,p_1,..." or "sample,value_0,..."; of files
// "input,row,class,...". Names are quoted as RFC 4180 says. JSON: a list of objects with the same
// members. text() hands out what has been added since the last call; the last call is finish().
class PredictionRows {
 public:
  PredictionRows(const SampleSpec& spec, Task task, int64_t outputs, const RowFormat& format);

  // outputs: logits or values of one sample.
  void add(const RowOrigin& origin, std::span<const float> outputs);
  std::string text();
  std::string finish();

 private:
  std::string class_name(size_t index) const;
  void add_csv(const RowOrigin& origin, std::span<const double> numbers, size_t best);
  void add_json(const RowOrigin& origin, std::span<const double> numbers, size_t best);
  bool classes() const { return task_ == Task::classify; }

  const SampleSpec& spec_;
  Task task_;
  RowFormat format_;
  bool first_ = true;
  std::string text_;
};

// e^x / sum e^x in fp64.
std::vector<double> softmax(std::span<const float> logits);

}  // namespace spire::tool
