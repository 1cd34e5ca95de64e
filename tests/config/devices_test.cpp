#include <gtest/gtest.h>
#include <spire/base/error.h>
#include <spire/config/devices.h>

namespace spire {
namespace {

using Names = std::vector<std::string>;

TEST(Devices, WordsForAChoiceStay) {
  EXPECT_EQ(expand_devices({"auto"}), Names{"auto"});
  EXPECT_EQ(expand_devices({"cuda"}), Names{"cuda"});
}

TEST(Devices, CpuWithANumberAloneIsSoManyDevices) {
  EXPECT_EQ(expand_devices({"cpu"}), Names{"cpu:0"});
  EXPECT_EQ(expand_devices({"cpu:1"}), Names{"cpu:0"});
  EXPECT_EQ(expand_devices({"cpu:3"}), (Names{"cpu:0", "cpu:1", "cpu:2"}));
}

TEST(Devices, CudaWithANumberIsThatDevice) {
  EXPECT_EQ(expand_devices({"cuda:3"}), Names{"cuda:3"});
  EXPECT_EQ(expand_devices({"cuda:1", "cuda:0"}), (Names{"cuda:1", "cuda:0"}));
}

TEST(Devices, ExpandingTwiceChangesNothing) {
  for (const std::string word :
       {"auto", "cpu", "cpu:0", "cpu:1", "cpu:2", "cpu:5", "cuda", "cuda:2"}) {
    Names once = expand_devices({word});
    EXPECT_EQ(expand_devices(once), once) << word;
  }
}

TEST(Devices, OtherWordsAreRefused) {
  for (const std::string word : {"", "gpu", "cpu:", "cpu:-1", "cpu:1.5", "cpu:2x",
                                 "cuda:99999999999", "CUDA:0", "cuda0", "cpu: 1", "cpu:1025"}) {
    EXPECT_THROW(expand_devices({word}), Error) << word;
    EXPECT_THROW(expand_devices({"cuda:0", word}), Error) << word;
  }
}

TEST(Devices, ParameterDeviceIsASingleOne) {
  for (const std::string word : {"auto", "cpu", "cpu:0", "cuda:1"}) {
    EXPECT_NO_THROW(check_parameter_device(word)) << word;
  }
  for (const std::string word : {"", "cuda", "gpu", "cuda:x"}) {
    EXPECT_THROW(check_parameter_device(word), Error) << word;
  }
}

}  // namespace
}  // namespace spire
