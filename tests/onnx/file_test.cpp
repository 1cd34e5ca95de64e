// Files of exported models: whole or not at all, one or two, and errors that say what to do.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/onnx/export_onnx.h"
#include "tests/base/file_size_limit.h"
#include "tests/base/folder.h"
#include "tests/base/message_of.h"
#include "tests/onnx/exported_models.h"
#include "tests/onnx/parsed_onnx.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const ModelToExport& small_model() {
  static const ModelToExport made = made_model(
      {"data.name=synthetic", "data.synthetic.shape=[12,10,3]", "data.synthetic.classes=5",
       "model.name=cnn", "model.channels=[4,8]", "model.hidden=[16]"});
  return made;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

ExportedOnnx write(const fs::path& path, const OnnxOptions& options, const ModelToExport& made) {
  return export_onnx(path, made.config, made.state, made.state, options);
}
ExportedOnnx write(const fs::path& path, const OnnxOptions& options = {}) {
  return write(path, options, small_model());
}

TEST(OnnxFile, HoldsTheSameWeightsInOneFileAndInTwo) {
  Folder scratch;
  ExportedOnnx one = write(scratch / "one.onnx");
  ExportedOnnx two = write(scratch / "two.onnx", {.file = {.weights = WeightPlace::beside}});
  EXPECT_THAT(names_in(scratch), ElementsAre("one.onnx", "two.onnx", "two.onnx.data"));
  EXPECT_EQ(one.file.bytes, fs::file_size(scratch / "one.onnx"));
  EXPECT_EQ(one.file.data, "");
  EXPECT_EQ(two.file.bytes, fs::file_size(scratch / "two.onnx"));
  EXPECT_EQ(two.file.data, scratch / "two.onnx.data");
  EXPECT_EQ(two.file.data_bytes, fs::file_size(two.file.data));
  ParsedOnnx inside = parse_onnx(scratch / "one.onnx");
  ParsedOnnx beside = parse_onnx(scratch / "two.onnx");
  ASSERT_EQ(inside.initializers.size(), beside.initializers.size());
  size_t moved = 0;
  for (size_t i = 0; i < inside.initializers.size(); ++i) {
    const ParsedInitializer &a = inside.initializers[i], &b = beside.initializers[i];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.bytes, b.bytes);
    EXPECT_EQ(b.external.empty(), a.bytes.size() < 1024) << a.name;
    if (b.external.empty()) continue;
    EXPECT_EQ(b.external.at("location"), "two.onnx.data");
    EXPECT_EQ(std::stoull(b.external.at("offset")) % 4096, 0u);
    ++moved;
  }
  EXPECT_EQ(moved, 2u);  // of conv2 and dense1
}

TEST(OnnxFile, IsNotReplacedUnlessAsked) {
  Folder scratch;
  fs::path path = scratch / "m.onnx";
  write(path);
  std::string before = content_of(path);
  EXPECT_THAT(message_of(Category::config, [&] { write(path, {.opset = 18}); }),
              HasSubstr("is there already; name another file, or give --overwrite"));
  EXPECT_EQ(content_of(path), before);
  write(path, {.opset = 18, .file = {.existing = Existing::replace}});
  EXPECT_EQ(parse_onnx(path).opset, 18);
  // The second file is as precious as the first.
  std::ofstream(scratch / "n.onnx.data") << "somebody's";
  OnnxOptions two_files = {.file = {.weights = WeightPlace::beside}};
  EXPECT_THAT(message_of(Category::config, [&] { write(scratch / "n.onnx", two_files); }),
              HasSubstr("n.onnx.data: is there already without its model n.onnx, as an export that "
                        "was killed leaves it; give --overwrite"));
  EXPECT_THAT(names_in(scratch), ElementsAre("m.onnx", "n.onnx.data"));
  two_files.file.existing = Existing::replace;
  write(scratch / "n.onnx", two_files);
  EXPECT_THAT(names_in(scratch), ElementsAre("m.onnx", "n.onnx", "n.onnx.data"));
  EXPECT_NE(content_of(scratch / "n.onnx.data"), "somebody's");
}

TEST(OnnxFile, IsNotThereAfterAFullDiskOrASignal) {
  Folder scratch;
  for (WeightPlace place : {WeightPlace::inside, WeightPlace::beside}) {
    FileSizeLimit limit(4000);
    EXPECT_THAT(message_of(Category::device,
                           [&] { write(scratch / "m.onnx", {.file = {.weights = place}}); }),
                HasSubstr("(ulimit -f); raise that limit; make room there"));
    EXPECT_THAT(names_in(scratch), ElementsAre());
  }
  std::atomic<bool> stop = true;
  EXPECT_THAT(
      message_of(Category::interrupted, [&] { write(scratch / "m.onnx", {.stop = &stop}); }),
      HasSubstr("stopped by a signal"));
  EXPECT_THAT(names_in(scratch), ElementsAre());
}

// The model's temporary file vanishes while the weights are written, so its commit fails.
TEST(OnnxFile, IsNeverOverTheWeightsOfAnother) {
  for (Existing existing : {Existing::replace, Existing::keep}) {
    Folder scratch;
    fs::path path = scratch / "m.onnx";
    OnnxFileOptions options = {.existing = existing, .weights = WeightPlace::beside};
    if (existing == Existing::replace) write(path, {.file = options});
    const ModelToExport& made = small_model();
    OnnxModel model = onnx_model(made.config, made.state, {});
    std::vector<TensorToWrite> weights;
    for (const OnnxWeight& weight : model.graph.weights)
      weights.push_back({weight.name, weight.shape, [&](int64_t, std::span<float> out) {
                           std::ranges::fill(out, 1.f);
                           fs::remove(scratch / "m.onnx.tmp");
                         }});
    EXPECT_THAT(message_of(Category::config, [&] { write_onnx(path, model, weights, options); }),
                HasSubstr("cannot rename to"));
    EXPECT_THAT(names_in(scratch), ElementsAre());
  }
}

TEST(OnnxFile, TakesTheReplacedModelsSecondFileAway) {
  Folder scratch;
  fs::path path = scratch / "m.onnx", beside = scratch / "m.onnx.data";
  write(path, {.file = {.weights = WeightPlace::beside}});
  OnnxOptions one_file = {.file = {.existing = Existing::replace}};
  EXPECT_EQ(write(path, one_file).file.removed, beside);
  EXPECT_THAT(names_in(scratch), ElementsAre("m.onnx"));
  std::ofstream(beside) << "somebody's";  // the model does not name it
  ExportedOnnx exported = write(path, one_file);
  EXPECT_EQ(exported.file.removed, "");
  EXPECT_EQ(exported.file.unused, beside);
  EXPECT_EQ(content_of(beside), "somebody's");
}

TEST(OnnxFile, HasTheWeightsThatEvaluationsUse) {
  Folder scratch;
  ModelToExport made = small_model();
  EXPECT_THAT(
      message_of(Category::checkpoint, [&] { write(scratch / "m", {.averaged = true}, made); }),
      HasSubstr("did not set ema.decay; leave out --ema"));
  made.state.optimizer = {{"ema", made.state.weights}};
  for (NamedTensor& tensor : made.state.optimizer[0].second)
    for (float& value : tensor.values) value = -value;
  for (std::optional<bool> asked : {std::optional<bool>(), {true}, {false}}) {
    bool averaged = asked.value_or(true);
    EXPECT_EQ(
        write(scratch / "m", {.averaged = asked, .file = {.existing = Existing::replace}}, made)
            .averaged,
        averaged);
    ParsedOnnx model = parse_onnx(scratch / "m");
    EXPECT_EQ(model.metadata.at("weights"), averaged ? "averaged" : "trained");
    float first = 0;
    std::memcpy(&first, model.find("conv1.weight")->bytes.data(), sizeof first);
    float trained = made.state.weights[0].values[0];
    EXPECT_EQ(first, averaged ? -trained : trained);
  }
}

TEST(OnnxFile, SaysHowInputsAreNormalizedAndWhatClassesAreCalled) {
  Folder scratch;
  ModelToExport made = small_model();
  made.spec.normalization = {{0.5, 0.25, 0.125}, {0.2, 0.3, 0.4}};
  made.spec.class_names = {"shoe", "\"bag\"", "c", "d", "caf\xc3\xa9"};
  made.state.data_spec = to_text(made.spec);
  write(scratch / "m", {.producer_version = "1.2"}, made);
  ParsedOnnx model = parse_onnx(scratch / "m");
  EXPECT_EQ(model.version, "1.2");
  EXPECT_EQ(model.metadata.at("task"), "classification");
  EXPECT_EQ(model.metadata.at("input.mean"), "[0.5,0.25,0.125]");
  EXPECT_EQ(model.metadata.at("input.stddev"), "[0.2,0.3,0.4]");
  EXPECT_EQ(model.metadata.at("classes"), "[\"shoe\",\"\\\"bag\\\"\",\"c\",\"d\",\"caf\xc3\xa9\"]");
  EXPECT_THAT(model.doc, HasSubstr("Input: images float32 (batch, 3, 12, 10), pixels / 255, less "
                                   "input.mean and divided by input.stddev"));
  EXPECT_THAT(model.doc, HasSubstr("Output: logits float32 (batch, 5), whose softmax is the "
                                   "probabilities"));
}

TEST(OnnxFile, RefusesWhatDoesNotFit) {
  Folder scratch;
  EXPECT_THAT(message_of(Category::config, [&] { write(scratch / "m", {.opset = 17}); }),
              HasSubstr("opset 17 is not supported; use 18 to 23"));
  ModelToExport made = small_model();
  made.state.weights[0].name = "other";
  EXPECT_THAT(message_of(Category::checkpoint, [&] { write(scratch / "m", {}, made); }),
              HasSubstr("the checkpoint has no 'conv1.weight'"));
  made = small_model();
  made.state.weights[1].shape = {2, 2};
  EXPECT_THAT(message_of(Category::checkpoint, [&] { write(scratch / "m", {}, made); }),
              HasSubstr("'conv1.bias' has shape (2, 2) in the checkpoint, but (4) in the model"));
  EXPECT_THAT(names_in(scratch), ElementsAre());
}

}  // namespace
}  // namespace spire
