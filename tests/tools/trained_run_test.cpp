// What trainer's subcommands do with a run.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/spire.h>

#include "tests/base/message_of.h"
#include "tests/data/numpy/npy_files.h"
#include "tools/report/run_page.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A small run, trained once for all tests.
class TrainedRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    RunConfig config = config_of({});
    auto files = file_observer(config, [](std::string_view text) { ADD_FAILURE() << text; });
    train(config, {}, *files);
  }
  static void TearDownTestSuite() { delete std::exchange(folder_, nullptr); }

  static RunConfig config_of(std::vector<std::string> words) {
    words.insert(
        words.begin(),
        {"model.name=mlp", "data.name=synthetic", "data.synthetic.samples=64",
         "data.synthetic.test_samples=16", "batch_size=16", "towers=1", "tower_threads=1",
         "devices=cpu", "epochs=2", "checkpoint.every_epochs=1", "output=" + run().string()});
    return parse_config({}, words).config;
  }
  static fs::path run() { return *folder_ / "run"; }
  static Checkpoint best() {
    return find_checkpoint(run().string(), "", CheckpointChoice::best, {});
  }
  static fs::path scratch(const std::string& name) { return *folder_ / name; }

 private:
  static Folder* folder_;
};
Folder* TrainedRun::folder_ = nullptr;

class InPrecision : public TrainedRun, public testing::WithParamInterface<const char*> {};

// The share of right classes is the accuracy that evaluate() finds, whatever the run computed in.
TEST_P(InPrecision, PredictsWhatItsEvaluationCounts) {
  Checkpoint checkpoint = best();
  RunConfig config = config_of({fmt::format("precision={}", GetParam())});
  TrainedModel model(checkpoint, {.device = "cpu", .batch = 4, .settings = &config});
  EXPECT_EQ(model.task(), ModelTask::classify);
  TestRows test = open_test_rows(config, model.data(), "the run", true);
  std::vector<std::byte> rows(16 * model.data().columns[0].row_bytes());
  std::vector<RowOrigin> origins = test.rows->read(16, rows.data());
  ASSERT_EQ(origins.size(), 16u);
  auto classes = static_cast<size_t>(model.output_shape().elements());
  std::vector<float> logits(16 * classes);
  model.predict(rows.data(), 16, logits);
  double right = 0;
  for (size_t i = 0; i < 16; ++i) {
    auto begin = logits.begin() + static_cast<std::ptrdiff_t>(i * classes);
    right += std::max_element(begin, begin + static_cast<std::ptrdiff_t>(classes)) - begin ==
             origins[i].label;
  }
  Observer silent;
  RunOptions options{.checkpoint = checkpoint.loaded()};
  RunConfig evaluated = config.precision == RunConfig::Precision::fp16 ? config_of({}) : config;
  EXPECT_DOUBLE_EQ(evaluate(evaluated, options, silent).metric.value, right / 16);
  ConfusionMatrix matrix = count_confusions(checkpoint, config, "the run", "cpu");
  double diagonal = 0;
  for (size_t i = 0; i < classes; ++i)
    diagonal += static_cast<double>(matrix.counts[i * classes + i]);
  EXPECT_EQ(diagonal, right);
}

// fp16 becomes fp32 on a CPU.
INSTANTIATE_TEST_SUITE_P(, InPrecision, testing::Values("fp32", "bf16", "fp16"));

// A sample that cannot be read stands neither for itself nor for its neighbour.
TEST_F(TrainedRun, LeavesOutTestSamplesThatCannotBeRead) {
  TrainedModel model(best(), {.device = "cpu", .batch = 4});
  const Shape& image = model.data().columns[0].shape;
  fs::create_directory(scratch("arrays"));
  for (const char* split : {"train", "test"}) {
    std::vector<float> x(static_cast<size_t>(5 * image.elements()), 0.5f);
    for (int64_t bad : {1, 2, 4}) x[static_cast<size_t>(bad * image.elements())] = NAN;
    write_npy(scratch(fmt::format("arrays/images_{}.npy", split)), "<f4",
              fmt::format("(5, {}, {}, {})", image[0], image[1], image[2]), x);
    write_npy(scratch(fmt::format("arrays/y_{}.npy", split)), "<i4", "(5,)",
              std::vector<int32_t>{0, 1, 2, 9, 4});
  }
  RunConfig config = config_of({"data.name=npy", "data.path=" + scratch("arrays").string(),
                                "data.on_error=skip", "data.mean=[0,0,0]", "data.stddev=[1,1,1]"});
  TestRows test = open_test_rows(config, model.data(), "the run", true);
  std::vector<std::byte> rows(5 * model.data().columns[0].row_bytes());
  std::vector<std::pair<int64_t, int64_t>> found;
  for (auto some = test.rows->read(1, rows.data()); !some.empty();
       some = test.rows->read(1, rows.data()))
    found.emplace_back(some[0].row, some[0].label.value());
  EXPECT_EQ(found, (std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {3, 9}}));
  // Another sample stands for the bad one, with its own label.
  ConfusionMatrix matrix = count_confusions(best(), config, "the run", "cpu");
  auto classes = static_cast<size_t>(model.output_shape().elements());
  std::vector<int64_t> of_label;
  for (size_t label = 0; label < classes; ++label)
    of_label.push_back(std::accumulate(
        matrix.counts.begin() + static_cast<std::ptrdiff_t>(label * classes),
        matrix.counts.begin() + static_cast<std::ptrdiff_t>((label + 1) * classes), int64_t{0}));
  EXPECT_THAT(of_label, testing::ElementsAre(2, 0, 0, 0, 0, 0, 0, 0, 0, 3));
}

TEST_F(TrainedRun, IsExportedAsItIsToldUnlessItIsStopped) {
  fs::path file = scratch("model.npz");
  ExportedModel exported = export_model(best(), config_of({}), file);
  ASSERT_EQ(exported.files.size(), 1u);
  EXPECT_EQ(exported.files[0].bytes, static_cast<int64_t>(fs::file_size(file)));
  EXPECT_GT(exported.numbers, 0);
  EXPECT_EQ(exported.names, "spire");
  export_model(best(), config_of({}), file, {.overwrite = true});
  EXPECT_THAT(message_of(Category::config, [&] { check_export(file, {.names = "keras"}); }),
              HasSubstr("keras"));
  std::atomic<bool> stop = true;
  EXPECT_THAT(
      message_of(
          Category::interrupted,
          [&] { export_model(best(), config_of({}), scratch("stopped.npz"), {.stop = &stop}); }),
      HasSubstr("stopped"));
  EXPECT_FALSE(fs::exists(scratch("stopped.npz")));
}

}  // namespace
}  // namespace spire
