// Validation data, metrics of all samples and the test at the end are alike in all processes.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/run/made_run.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

nlohmann::json json_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

void expect_alike(const std::string& name, const Words& words) {
  MadeRuns runs;
  Output alone = trainer(runs.words("alone", words));
  ASSERT_EQ(alone.code, 0) << name << alone.err;
  nlohmann::json one = json_of(runs / "alone" / "summary.json");
  EXPECT_TRUE(one.at("test").contains("step")) << name;
  for (const char* strategy : {"strategy=parameter_device", "strategy=sharded"}) {
    Output several =
        trainer(runs.words("several", words + Words{strategy, "--processes", "3", "--overwrite"}));
    ASSERT_EQ(several.code, 0) << name << several.err;
    nlohmann::json other = json_of(runs / "several" / "summary.json");
    for (const char* key : {"parameter_hash", "val", "test"})
      EXPECT_EQ(other.at(key), one.at(key)) << name << ' ' << strategy << ' ' << key;
  }
}

TEST(ValidationInProcesses, IsThatOfOne) {
  expect_alike("values", {"data.val.share=0.2", "steps=9", "seed=3", "eval.every_steps=3",
                          "eval.metrics=[r2, mae]", "best.metric=mae"});
}

TEST(ValidationInProcesses, OfClassesIsThatOfOne) {
  expect_alike("classes", {"data.name=synthetic", "data.synthetic.kind=features",
                           "data.synthetic.shape=[6]", "data.synthetic.classes=4",
                           "data.synthetic.samples=90", "data.synthetic.test_samples=30",
                           "data.val.share=0.3", "steps=9", "eval.every_steps=3",
                           "eval.metrics=[top3, f1_macro, auc, confusion]",
                           "best.metric=f1_macro"});
}

}  // namespace
}  // namespace spire
