// What an exported file contains, of every model, read back from its bytes.
#include <cstring>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/onnx/export_onnx.h"
#include "models/model.h"
#include "tests/base/folder.h"
#include "tests/onnx/exported_models.h"
#include "tests/onnx/parsed_onnx.h"

namespace spire {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

ParsedOnnx exported(const ModelToExport& made, const OnnxOptions& options = {}) {
  Folder scratch;
  export_onnx(scratch / "model.onnx", made.config, made.state, made.state, options);
  return parse_onnx(scratch / "model.onnx");
}

std::string bytes_of(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class OnnxStructure : public testing::TestWithParam<ExportCase> {
 protected:
  ModelToExport made_ = made_model(GetParam().words);
  ParsedOnnx model_ = exported(made_);
};

TEST_P(OnnxStructure, WeightsHaveTheBitsOfTheCheckpoint) {
  size_t weights = 0;
  for (const auto* group : {&made_.state.weights, &made_.state.states}) {
    for (const NamedTensor& tensor : *group) {
      const ParsedInitializer* found = model_.find(tensor.name);
      ASSERT_NE(found, nullptr) << tensor.name;
      EXPECT_EQ(found->type, 1);  // float
      EXPECT_EQ(Shape(found->dims), tensor.shape);
      EXPECT_EQ(found->bytes, bytes_of(tensor.values)) << tensor.name;
      ++weights;
    }
  }
  for (const ParsedInitializer& tensor : model_.initializers)
    weights -= tensor.name.find('[') == std::string::npos ? 1 : 0;  // no constant
  EXPECT_EQ(weights, 0u);
}

TEST_P(OnnxStructure, NodesReadWhatIsDefinedBeforeThem) {
  std::set<std::string> defined = {""}, names, read;
  for (const ParsedTensor& input : model_.inputs) EXPECT_TRUE(defined.insert(input.name).second);
  for (const ParsedInitializer& tensor : model_.initializers)
    EXPECT_TRUE(defined.insert(tensor.name).second) << tensor.name;
  for (const ParsedNode& node : model_.nodes) {
    for (const std::string& input : node.inputs) EXPECT_THAT(defined, Contains(input));
    for (const std::string& output : node.outputs) EXPECT_TRUE(defined.insert(output).second);
    EXPECT_TRUE(names.insert(node.name).second) << node.name;
    read.insert(node.inputs.begin(), node.inputs.end());
  }
  for (const ParsedTensor& output : model_.outputs) read.insert(output.name);
  defined.erase("");
  read.erase("");
  EXPECT_EQ(read, defined);  // all that is there has a use
}

// No Transpose follows another, and none moves an axis where no element moves.
TEST_P(OnnxStructure, TransposesOnceBetweenOrders) {
  std::map<std::string, std::string> makers;
  for (const ParsedNode& node : model_.nodes) {
    for (const std::string& output : node.outputs) makers[output] = node.op;
    if (node.op == "Transpose" || node.op == "Identity") {
      EXPECT_NE(makers[node.inputs[0]], "Transpose") << node.name;
    }
    EXPECT_NE(node.op, "Identity");
  }
}

TEST_P(OnnxStructure, SaysWhatItIs) {
  Task task = task_of(made_.config.model, made_.spec.columns);
  EXPECT_EQ(model_.producer, "Spire");
  EXPECT_EQ(model_.opset, 20);
  EXPECT_EQ(model_.ir_version, 9);
  EXPECT_EQ(model_.metadata.at("step"), "3");
  EXPECT_EQ(model_.metadata.at("weights"), "trained");
  EXPECT_EQ(model_.graph_name, model_for(made_.config.model, made_.spec.columns));
  ASSERT_EQ(model_.inputs.size(), 1u);
  ASSERT_EQ(model_.outputs.size(), 1u);
  const ParsedTensor &input = model_.inputs[0], &output = model_.outputs[0];
  EXPECT_EQ(input.name, made_.spec.columns[0].name);
  EXPECT_EQ(input.dims.at(0), "batch");
  EXPECT_EQ(output.dims.at(0), "batch");
  if (task == Task::reconstruct) {
    EXPECT_EQ(output.name, "reconstruction");
    EXPECT_EQ(output.dims, input.dims);
  } else if (task == Task::predict_tokens) {
    EXPECT_EQ(input.type, 7);  // int64
    EXPECT_THAT(output.dims, ElementsAre("batch", "12", "5"));
  } else {
    EXPECT_THAT(output.dims, ElementsAre("batch", "5"));
    EXPECT_EQ(output.name, "logits");
  }
}

TEST_P(OnnxStructure, TakesAFixedNumberOfSamplesIfAsked) {
  ParsedOnnx fixed = exported(made_, {.batch = 3});
  EXPECT_EQ(fixed.inputs[0].dims.at(0), "3");
  EXPECT_EQ(fixed.outputs[0].dims.at(0), "3");
  for (const ParsedNode& node : fixed.nodes) EXPECT_NE(node.op, "Shape");
}

INSTANTIATE_TEST_SUITE_P(Models, OnnxStructure, testing::ValuesIn(export_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
