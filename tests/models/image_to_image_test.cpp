// Tests models that make images: shapes, counts, and gradients of every weight.
#include <cmath>

#include <gtest/gtest.h>

#include <spire/layers.h>

#include "engine/config/words.h"
#include "engine/graph/graph.h"
#include "models/model.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

using Build = Value (*)(Graph&, Value, const ModelConfig&, int64_t);

struct MadeNet {
  Graph graph{true};
  Value images, result;
};

// channels: of the result; 0: those of the images.
MadeNet made(Build build, const ModelConfig& config, Shape images, int64_t channels = 0) {
  MadeNet m;
  m.images = m.graph.input("images", {images, DType::f32});
  m.result = build(m.graph, m.images, config, channels == 0 ? images.back() : channels);
  return m;
}

TEST(ImageToImage, ResultsHaveTheImagesShapeWhateverItsSize) {
  for (Build build : {&autoencoder, &unet}) {
    for (const char* upsample : {"conv_transpose", "resize"}) {
      for (Shape shape : {Shape{2, 28, 28, 1}, {1, 32, 32, 3}, {1, 21, 38, 3}, {3, 9, 8, 2}}) {
        MadeNet m = made(build, {.upsample = *find_word<ModelConfig::Upsample>(upsample)}, shape);
        EXPECT_EQ(m.graph.spec(m.result).shape, shape) << upsample;
        MadeNet classes = made(build, {}, shape, 7);
        EXPECT_EQ(classes.graph.spec(classes.result).shape,
                  Shape({shape[0], shape[1], shape[2], 7}));
      }
    }
  }
}

TEST(ImageToImage, OutputActivationIsTheLastOp) {
  for (Build build : {&autoencoder, &unet}) {
    MadeNet linear = made(build, {}, {1, 16, 16, 1});
    EXPECT_EQ(linear.graph.nodes().back().op->name(), "conv2d");
    MadeNet bounded =
        made(build, {.output_activation = ModelConfig::OutputActivation::sigmoid}, {1, 16, 16, 1});
    EXPECT_EQ(bounded.graph.nodes().back().op->name(), "sigmoid");
  }
}

// 28 -> 14 -> 7 pixels, and back.
TEST(Autoencoder, ParametersByHand) {
  ModelConfig config = {.channels = {8, 4}};
  int64_t down = (9 * 8 + 8) + (9 * 8 * 4 + 4), up = (9 * 4 * 8 + 8) + (9 * 8 * 8 + 8);
  int64_t pixels = 9 * 8 + 1;
  auto rows = layer_table(made(autoencoder, config, {1, 28, 28, 1}).graph);
  EXPECT_EQ(total_of(rows).parameters, down + up + pixels);
  // conv 14x14x8x9, 7x7x4x72; transposed 7x7x4x72, 14x14x8x72; pixels 28x28x72.
  EXPECT_EQ(total_of(rows).multiply_adds, 14112 + 14112 + 14112 + 112896 + 56448);

  config.hidden = {64, 16};
  int64_t flat = 7 * 7 * 4;
  int64_t dense = (flat * 64 + 64) + (64 * 16 + 16) + (16 * 64 + 64) + (64 * flat + flat);
  auto with_code = layer_table(made(autoencoder, config, {1, 28, 28, 1}).graph);
  EXPECT_EQ(total_of(with_code).parameters, down + up + pixels + dense);
}

TEST(Unet, ConcatenatesTheTensorsOfTheWayDown) {
  auto rows = layer_table(made(unet, {.channels = {4, 8}}, {1, 12, 10, 3}).graph);
  int64_t down = (27 * 4 + 4) + (36 * 4 + 4) + (36 * 8 + 8) + (72 * 8 + 8);
  int64_t up = (8 * 4 * 4 + 4) + (72 * 4 + 4) + (36 * 4 + 4), pixels = 4 * 3 + 3;
  EXPECT_EQ(total_of(rows).parameters, down + up + pixels);
  for (const LayerRow& row : rows) {
    if (row.op == "concat") {
      EXPECT_EQ(Shape(row.output_shape), (Shape{1, 12, 10, 8}));
    }
  }
}

// The loss of a result against the images themselves, and "score", its squared error.
Graph reconstruction(Build build, const ModelConfig& config, Regression kind) {
  MadeNet m = made(build, config, {2, 12, 12, 1});
  m.graph.input("labels", {{2}, DType::i32});
  reconstruction_loss(m.graph, m.result, m.images, kind);
  return std::move(m.graph);
}

std::vector<float> test_images() {
  std::vector<float> pixels(2 * 144);
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = 0.5f + 0.5f * std::sin(0.37f * static_cast<float>(i));
  return pixels;
}

TEST(ImageToImage, GradientsReachEveryWeight) {
  for (Build build : {&autoencoder, &unet}) {
    for (const char* upsample : {"conv_transpose", "resize"}) {
      for (const char* normalization : {"none", "batch_norm"}) {
        ModelConfig config = {
            .hidden = {12},
            .channels = {6, 5},
            .normalization = *find_word<ModelConfig::Normalization>(normalization),
            .upsample = *find_word<ModelConfig::Upsample>(upsample),
            .output_activation = ModelConfig::OutputActivation::sigmoid};
        Graph graph = reconstruction(build, config, Regression::l1_l2);
        GraphRun run = run_graph(std::move(graph), test_images(), {0, 0});
        EXPECT_GT(run.loss, 0);
        for (const auto& [name, gradient] : run.gradients) {
          double squares = 0;
          for (float g : gradient) squares += double{g} * g;
          EXPECT_GT(squares, 0) << name << " " << upsample << " " << normalization;
          EXPECT_TRUE(std::isfinite(squares)) << name;
        }
      }
    }
  }
}

TEST(ImageToImage, GradientsAreSlopesOfTheLoss) {
  ModelConfig config = {.channels = {6, 5},
                        .output_activation = ModelConfig::OutputActivation::sigmoid};
  for (Build build : {&autoencoder, &unet}) {
    auto images = test_images();
    const std::string name = "pixels.bias";
    auto run_at = [&](float bias) {
      Graph graph = reconstruction(build, config, Regression::mse);
      auto fill = [&](const ParameterEntry& entry, std::span<float> values) {
        entry.initialize(RandomStream(7, Purpose::initialize, values.size()), 0, values);
        if (entry.name == name) values[0] = bias;
      };
      return run_graph(std::move(graph), images, {0, 0}, {.fill = fill});
    };
    double step = 1e-2, change = run_at(0.01f).loss - run_at(-0.01f).loss;
    double slope = change / (2 * step) / 2;  // of the mean over two samples
    EXPECT_NEAR(run_at(0).gradients.at(name)[0], slope, 1e-3 * std::abs(slope));
  }
}

}  // namespace
}  // namespace spire
