// Logits and all gradients of a model equal PyTorch's from the same weights and samples.
// pytorch_gradients.json holds PyTorch's figures and the formula that both make their weights by;
// record_gradients.py beside it made them.
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "models/model.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

using Json = nlohmann::json;

uint32_t fnv1a(const std::string& text) {
  uint32_t value = 0x811c9dc5u;
  for (unsigned char byte : text) value = (value ^ byte) * 0x01000193u;
  return value;
}

// h(name, i) of the formula.
class Hashed {
 public:
  Hashed(const std::string& name, uint32_t seed) : first_(0x9e3779b1u * (seed + fnv1a(name))) {}
  uint32_t bits(size_t i) const {
    uint32_t x = static_cast<uint32_t>(i) + first_;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
  }
  double uniform(size_t i) const { return bits(i) / 4294967296.0; }

 private:
  uint32_t first_;
};

// A model's entry in the file, and what its formula says.
struct RecordedModel {
  explicit RecordedModel(const Json& entry)
      : seed(entry["seed"]),
        beta(entry["beta"]),
        classes(entry["classes"]),
        tokens(entry.contains("tokens")) {
    for (int64_t extent : entry[tokens ? "tokens" : "images"]) shape.push_back(extent);
  }

  void fill(const ParameterEntry& entry, std::span<float> values) const {
    if (!entry.trained()) return;  // training does not read running statistics
    Hashed hash(entry.name, seed), sign(entry.name + ".sign", seed);
    double fan_in = static_cast<double>(entry.elements()) / static_cast<double>(entry.shape[0]);
    for (size_t i = 0; i < values.size(); ++i) {
      double u = hash.uniform(i), value = (2 * u - 1) * std::sqrt(6 / fan_in);
      if (entry.name.ends_with(".gamma")) value = 0.4 + 0.3 * u;
      if (entry.name.ends_with(".beta"))
        value = (sign.bits(i) % 2 == 0 ? 1 : -1) * (beta + 0.3 * u);
      if (entry.name.ends_with(".bias")) value = (2 * u - 1) / 10;
      values[i] = static_cast<float>(value);
    }
  }

  std::vector<float> pixels() const {
    Hashed hash("images", seed);
    std::vector<float> pixels(static_cast<size_t>(Shape(shape).elements()));
    for (size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = static_cast<float>(2 * hash.uniform(i) - 1);
    return pixels;
  }

  // Classes: "labels", one a sample; or "tokens", "targets", a row of them a sample.
  std::vector<int32_t> classes_of(const std::string& column) const {
    Hashed hash(column, seed);
    std::vector<int32_t> values(
        static_cast<size_t>(tokens ? Shape(shape).elements() : shape.front()));
    for (size_t n = 0; n < values.size(); ++n)
      values[n] = static_cast<int32_t>(hash.bits(n) % static_cast<uint32_t>(classes));
    return values;
  }

  ModelInput input() const {
    ModelInput input{.columns = {}, .classes = classes, .batch = shape.front()};
    Shape row(std::span<const int64_t>(shape).subspan(1));
    if (tokens) {
      input.columns = {{"tokens", row, DType::i32}, {"targets", row, DType::i32}};
    } else {
      input.columns = {{"images", row}, {"labels", {}, DType::i32}};
    }
    return input;
  }

  uint32_t seed;
  double beta;
  int64_t classes;
  bool tokens;
  std::vector<int64_t> shape;  // of images (N, H, W, C), of tokens (N, T)
};

// Norm, sums with random signs (each is off by about the norm of all errors), some elements.
std::vector<double> summary(const std::vector<float>& values) {
  Hashed signs("signs", 0);
  double squares = 0, sums[4] = {};
  for (size_t i = 0; i < values.size(); ++i) {
    double value = values[i];
    uint32_t bits = signs.bits(i);
    squares += value * value;
    for (uint32_t j = 0; j < 4; ++j) sums[j] += (bits >> j & 1) != 0 ? value : -value;
  }
  std::vector<double> figures{std::sqrt(squares)};
  figures.insert(figures.end(), std::begin(sums), std::end(sums));
  for (size_t k = 0; k < 8; ++k) figures.push_back(values[k * (values.size() - 1) / 7]);
  return figures;
}

void expect_equal(const std::string& name, const std::vector<float>& values, const Json& recorded,
                  double tolerance) {
  auto want = recorded.get<std::vector<double>>(), got = summary(values);
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k)
    EXPECT_NEAR(got[k], want[k], tolerance * want[0]) << name << ", figure " << k;
}

struct GradientPeer {
  std::string name;
  ModelConfig model;
};

class EqualsPyTorch : public testing::TestWithParam<GradientPeer> {};

TEST_P(EqualsPyTorch, InLogitsAndAllGradients) {
  constexpr double test_tolerance = 1e-4;  // relative to each tensor's norm
  std::ifstream file(SPIRE_PEER_GRADIENTS);
  Json entry = Json::parse(file)["models"][GetParam().name];
  RecordedModel recorded(entry);
  Graph graph = build_model(GetParam().model, {}, recorded.input(), true);
  auto fill = [&](const ParameterEntry& e, std::span<float> values) { recorded.fill(e, values); };
  auto samples = static_cast<size_t>(recorded.shape.front());
  auto pixels = recorded.pixels();
  auto tokens = recorded.classes_of("tokens"),
       labels = recorded.classes_of(recorded.tokens ? "targets" : "labels");
  const void* read = recorded.tokens ? static_cast<const void*>(tokens.data()) : pixels.data();
  GraphRun run = run_graph(std::move(graph), {read, labels.data()}, samples, {.fill = fill});

  double loss = entry["loss"], mean = run.loss / static_cast<double>(samples);
  EXPECT_NEAR(mean, loss, test_tolerance * loss);
  const Json& tensors = entry["tensors"];
  expect_equal("logits", run.output, tensors["logits"], test_tolerance);
  size_t compared = 1;
  for (const auto& [name, gradient] : run.gradients) {
    if (name.find(".running_") != std::string::npos) continue;
    ASSERT_TRUE(tensors.contains(name)) << name;
    expect_equal(name, gradient, tensors[name], test_tolerance);
    ++compared;
  }
  EXPECT_EQ(compared, tensors.size());  // PyTorch has no parameter that we lack
}

INSTANTIATE_TEST_SUITE_P(
    Models, EqualsPyTorch,
    testing::Values(GradientPeer{"resnet20", {.name = "resnet"}},
                    GradientPeer{"resnet20_identity",
                                 {.name = "resnet", .shortcut = ModelConfig::Shortcut::identity}},
                    GradientPeer{
                        "resnet50",
                        {.name = "resnet", .depth = 50, .variant = ModelConfig::Variant::imagenet}},
                    GradientPeer{"gpt2_of_2_blocks", {.name = "gpt", .blocks = 2}},
                    GradientPeer{"vit_tiny", {.name = "vit"}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
