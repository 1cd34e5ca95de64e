// Tests a GPT whose vocabulary is no multiple of a pack: where a device pads the rows of its
// logits, only speed and memory change.
#include <cmath>

#include <spire/layers.h>

#include "engine/config/text.h"
#include "engine/data/dataset.h"
#include "engine/graph/passes.h"
#include "engine/inference/predictor.h"
#include "engine/train/model_graph.h"
#include "tests/train/device_kinds.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

constexpr int64_t batch = 2, length = 6, vocabulary = 1031, padded = 1152;

ModelConfig small_gpt() {
  return {.name = "gpt", .blocks = 1, .width = 16, .heads = 2};
}

Graph gpt_graph(DType dtype, int64_t tokens, bool training = true) {
  std::vector<Column> columns = {{"tokens", {length}, DType::i32},
                                 {"targets", {length}, DType::i32}};
  ModelInput input{.columns = columns, .classes = tokens, .batch = batch, .dtype = dtype};
  return build_model(small_gpt(), {}, input, training);
}

struct Differentiated {
  Graph graph;
  std::vector<ParameterGradient> gradients;
};

Differentiated differentiated(Graph graph) {
  fuse_activations(graph);
  auto gradients = differentiate(graph);
  std::vector<Value> keep;
  for (const auto& g : gradients) keep.push_back(g.gradient);
  remove_dead_nodes(graph, keep);
  return {std::move(graph), std::move(gradients)};
}

struct Computed {
  double loss = 0;
  std::vector<float> gradients;
};

// One run of a tower on the device, with its rows padded or not.
Computed compute(DeviceId device, bool pad) {
  auto [graph, gradients] = differentiated(gpt_graph(DType::bf16, vocabulary));
  if (pad) pad_rows(graph, device);
  ParameterLayout layout(graph, gradients);
  PackedWeights forms;
  make_current(device);
  auto libraries = open_cuda_libraries(device, {});
  auto stream = make_stream(device);
  Plan plan(std::move(graph),
            {.device = device, .threads = 1, .gradients = gradients, .cuda = libraries.get()},
            layout, forms);
  MemoryPool pool{device};
  forms.allocate(pool);
  auto given = [&](const auto& values) {
    size_t bytes = values.size() * sizeof values[0];
    auto memory = allocate_memory(device, bytes);
    memory->write(values.data(), bytes);
    return memory;
  };
  auto floats = static_cast<size_t>(layout.total_floats());
  std::vector<float> initial(floats), zeros(floats);
  layout.initialize(1, initial.data());
  auto weights = given(initial), gradient = given(zeros);
  auto arena = given(std::vector<uint8_t>(plan.arena_bytes(), 0xff));
  auto tokens = given(std::vector<int32_t>{0, 5, 1030, 7, 1024, 5, 900, 1, 2, 3, 1029, 1028});
  auto targets = given(std::vector<int32_t>{5, 1030, 7, 1024, 5, 0, 1, 2, 3, 1029, 1028, 0});
  auto step = given(std::vector<StepContext>{{.seed = 1, .gradient_scale = 1.0f / batch}});
  forms.pack_for_step(weights->as<float>(), 0, 1, *stream);
  plan.run({weights->as<float>(),
            forms.data(),
            gradient->as<float>(),
            arena->as<std::byte>(),
            {tokens->data(), targets->data()},
            step->as<StepContext>(),
            stream->native()});
  stream->synchronize();
  Computed computed{0, std::move(zeros)};
  gradient->read(computed.gradients.data(), floats * sizeof(float));
  std::vector<std::byte> all(arena->bytes());
  arena->read(all.data(), all.size());
  std::memcpy(&computed.loss, plan.output("loss", all.data()), sizeof computed.loss);
  return computed;
}

class PaddedRows : public OnEachKind {
 protected:
  static DeviceId device() { return {GetParam(), 0}; }
};

TEST_P(PaddedRows, AreThoseOfWideUnalignedLogitsOnGpus) {
  auto padded_in = [](Graph graph) { return pad_rows(graph, device()); };
  auto training = [](DType dtype, int64_t tokens) {
    return differentiated(gpt_graph(dtype, tokens)).graph;
  };
  int on_gpus = on_gpu() ? 2 : 0;  // logits and their gradient
  EXPECT_EQ(padded_in(training(DType::bf16, vocabulary)), on_gpus);
  EXPECT_EQ(padded_in(training(DType::f16, vocabulary)), on_gpus);
  EXPECT_EQ(padded_in(training(DType::bf16, vocabulary + 1)), 0);  // 129 packs
  EXPECT_EQ(padded_in(training(DType::bf16, 1023)), 0);
  EXPECT_EQ(padded_in(training(DType::f32, vocabulary)), 0);
  EXPECT_EQ(padded_in(gpt_graph(DType::bf16, vocabulary, false)), on_gpus / 2);
}

TEST_P(PaddedRows, KeepShapesAndTakeTheirBytes) {
  Graph graph = differentiated(gpt_graph(DType::bf16, vocabulary)).graph;
  pad_rows(graph, device());
  TensorSpec logits = graph.spec(graph.outputs().at("output"));
  EXPECT_EQ(logits.shape, (Shape{batch, length, vocabulary}));
  EXPECT_EQ(logits.pitch(), on_gpu() ? padded : vocabulary);
  EXPECT_EQ(logits.bytes(), static_cast<size_t>(batch * length * logits.pitch() * 2));
}

// An op that reads logits and cannot read padded rows keeps them unpadded.
TEST_P(PaddedRows, AreNoneWhereAReaderTakesNone) {
  Graph graph(true, DType::bf16);
  Value x = graph.input("features", {{batch, 8}, DType::bf16});
  Value labels = graph.input("labels", {{batch}, DType::i32});
  Value logits = dense(graph, "head", x, vocabulary);
  cross_entropy_loss(graph, logits, labels, 0.0f);
  graph.mark_output("output", tanh(graph, logits));
  pad_rows(graph, device());
  EXPECT_EQ(graph.spec(logits).row_pitch, 0);
}

// On GPUs a row of logits is summed in another order where it is read in packs.
TEST_P(PaddedRows, ChangeNoLossAndNoGradient) {
  Computed plain = compute(device(), false), rows = compute(device(), true);
  EXPECT_NEAR(plain.loss, batch * std::log(double{vocabulary}), 0.1);
  if (!on_gpu()) {
    EXPECT_EQ(rows.loss, plain.loss);
    EXPECT_EQ(rows.gradients, plain.gradients);
    return;
  }
  EXPECT_NEAR(rows.loss, plain.loss, 1e-6 * plain.loss);
  double largest = 0, apart = 0;
  for (size_t i = 0; i < plain.gradients.size(); ++i) {
    ASSERT_TRUE(std::isfinite(rows.gradients[i])) << i;
    largest = std::max(largest, std::abs(double{plain.gradients[i]}));
    apart = std::max(apart, std::abs(double{plain.gradients[i]} - double{rows.gradients[i]}));
  }
  EXPECT_GT(largest, 0.01);
  EXPECT_LE(apart, 0x1p-8 * largest);
}

// Tests a whole run: one hash on any devices, memory as planned, and no padding in a saved state.
class PaddedRun : public PaddedRows {
 protected:
  static DataConfig token_data() {
    DataConfig data;
    data.name = "synthetic";
    data.synthetic = {.kind = SyntheticConfig::Kind::tokens,
                      .shape = {length},
                      .classes = vocabulary,
                      .samples = 10,
                      .test_samples = 4};
    return data;
  }

  static SmallRun run_on(const std::vector<std::string>& names) {
    SmallRun run;
    run.model = small_gpt();
    run.optimizer = {.name = OptimizerConfig::Name::adamw, .lr = 0.01};
    run.samples = 10;
    run.batch_size = batch;
    run.towers = 2;
    run.precision = DType::bf16;
    run.devices = names;
    return run;
  }

  struct Ended {
    uint64_t hash = 0;
    TrainingState state;
  };
  static Ended train(const SmallRun& run) {
    DatasetPair data = open_dataset(token_data(), {.dtype = run.precision, .seed = run.seed});
    TowerTrainer trainer(run.options(*data.train), run.place());
    run_steps(trainer, run, *data.train, 0, 3);
    Ended ended;
    trainer.team().lead([&] { take_state(trainer, ended.state); });
    EXPECT_EQ(trainer.peak_memory(), trainer.planned_memory());
    ended.hash = trainer.parameter_hash();
    RunConfig config;
    config.model = run.model;
    config.precision = RunConfig::Precision::bf16;
    ended.state.config_yaml = to_yaml(config);
    ended.state.data_spec = to_text(data.train->spec());
    return ended;
  }

  // Logits of one sample: (T, V).
  static std::vector<float> logits(const TrainingState& state, const std::string& on) {
    Predictor predictor(state, state, {.device = on, .batch = 3});
    EXPECT_EQ(predictor.output_shape(), (Shape{length, vocabulary}));
    std::vector<int32_t> tokens = {1, 1030, 3, 500, 1024, 6, 7, 8, 9, 10, 11, 12};
    std::vector<float> out(2 * length * vocabulary);
    predictor.run(tokens.data(), 2, out);
    return out;
  }
};

TEST_P(PaddedRun, HasOneHashAndSavesPlainTables) {
  Ended one = train(run_on(devices(1)));
  EXPECT_EQ(train(run_on(devices(2))).hash, one.hash);
  for (const NamedTensor& tensor : one.state.weights) {
    if (tensor.name != "tokens.weight") continue;
    EXPECT_EQ(tensor.shape, (Shape{vocabulary, 16}));
    return;
  }
  FAIL() << "no table of tokens";
}

TEST_P(PaddedRun, PredictsWithTheLogitsOfTheVocabulary) {
  TrainingState state = train(run_on(devices(1))).state;
  auto want = logits(state, "cpu:0"), got = logits(state, devices(1)[0]);
  double largest = 0, apart = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, std::abs(double{want[i]}));
    apart = std::max(apart, std::abs(double{want[i]} - double{got[i]}));
  }
  EXPECT_GT(largest, 0.1);
  EXPECT_LE(apart, 0.05 * largest);
}

SPIRE_TEST_ON_EACH_KIND(PaddedRows);
SPIRE_TEST_ON_EACH_KIND(PaddedRun);

}  // namespace
}  // namespace spire
