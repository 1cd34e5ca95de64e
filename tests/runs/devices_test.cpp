// Towers are the meaning, devices the hardware: one hash on any number of devices.
#include <gtest/gtest.h>

#include "tests/runs/run_folder.h"

namespace spire {
namespace {

struct Named {
  std::string name;
  Words model;
  friend std::ostream& operator<<(std::ostream& out, const Named& n) { return out << n.name; }
};

class Devices : public testing::TestWithParam<Named> {};

TEST_P(Devices, OneHashOnAnyNumberOfThem) {
  RunFolder folder;
  auto run = [&](const std::string& name, const Words& more) {
    Output output = trainer(folder.run(name, GetParam().model + Words{"steps=12"} + more));
    EXPECT_EQ(output.code, 0) << output.err;
    return printed_hash(output);
  };
  std::string one = run("one", {"devices=1xcpu"});
  EXPECT_EQ(run("two", {"devices=2xcpu"}), one);
  EXPECT_EQ(run("three", {"devices=[cpu:0, cpu:1, cpu:2]"}), one);
  EXPECT_EQ(run("four", {"devices=4xcpu"}), one);
  EXPECT_EQ(run("updated_elsewhere", {"devices=2xcpu", "parameter_device=cpu:1"}), one);
  EXPECT_EQ(folder.summary("three")["devices"], Json::parse(R"(["cpu:0", "cpu:1", "cpu:2"])"));
  EXPECT_EQ(curve(folder.metrics("three")), curve(folder.metrics("one")));
  EXPECT_NE(run("another_seed", {"seed=8"}), one);  // the hash tells runs apart
}

TEST(AutoBatch, IsTheSameInAllProcesses) {
  RunFolder folder;
  auto run = [&](const std::string& name, const Words& more) {
    Output output = trainer(folder.run(name, test_mlp + Words{"steps=3"} + more));
    EXPECT_EQ(output.code, 0) << output.err;
    return printed_hash(output);
  };
  std::string named = run("named", {"batch_size=8"});
  EXPECT_EQ(run("chosen", {"batch_size=auto", "--processes", "2"}), named);
  EXPECT_NE(run("smaller", {"batch_size=4"}), named);
}

INSTANTIATE_TEST_SUITE_P(TowerTrainer, Devices,
                         testing::Values(Named{"mlp", test_mlp}, Named{"cnn", test_cnn},
                                         Named{"resnet", test_resnet}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace spire
