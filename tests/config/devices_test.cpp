#include "engine/config/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/config/text.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;
using Names = std::vector<std::string>;

// Both kinds follow one rule: Nx counts, :N names. In a list, numbers are GPUs.
TEST(Devices, AreExpandedToSingleOnes) {
  for (const auto& [words, expected] : std::vector<std::pair<Names, Names>>{
           {{"auto"}, {"auto"}},
           {{"cuda"}, {"cuda"}},
           {{"all"}, {"cuda"}},
           {{"cpu"}, {"cpu:0"}},
           {{"1xcpu"}, {"cpu:0"}},
           {{"3xcpu"}, {"cpu:0", "cpu:1", "cpu:2"}},
           {{"3xcuda"}, {"3xcuda"}},  // which they are, the machine decides
           {{"cuda:3"}, {"cuda:3"}},
           {{"cuda:1", "cuda:0"}, {"cuda:1", "cuda:0"}},
           {{"cpu:0"}, {"cpu:0"}},
           {{"cpu:0", "cpu:1"}, {"cpu:0", "cpu:1"}},
           {{"auto:2"}, {"auto:2"}},
           {{"0", "2"}, {"cuda:0", "cuda:2"}},
           {{"1", "cuda:1"}, {"cuda:1", "cuda:1"}},
           {{"cpu:1"}, {"cpu:0"}},
           {{"cpu:3"}, {"cpu:0", "cpu:1", "cpu:2"}},
           {{"cuda:0:8GiB", "cuda:0:4GiB"}, {"cuda:0:8GiB", "cuda:0:4GiB"}},
           {{"0:8GiB", "1"}, {"cuda:0:8GiB", "cuda:1"}},
           {{"0:8GiB"}, {"cuda:0:8GiB"}},
           {{"cpu:0:2GiB", "cpu:1:0.25"}, {"cpu:0:2GiB", "cpu:1:0.25"}},
           {{"3b:00.0:8GiB"}, {"3b:00.0:8GiB"}},
           {{"GPU-1b2c:512MiB"}, {"GPU-1b2c:512MiB"}}}) {
    EXPECT_EQ(expand_devices(words), expected);
    EXPECT_EQ(expand_devices(expected), expected);
  }
}

TEST(Devices, IdleGpusAreCounted) {
  EXPECT_EQ(gpu_group("auto:2")->count, 2);
  EXPECT_TRUE(gpu_group("auto:2")->idle);
  EXPECT_FALSE(gpu_group("2xcuda")->idle);
  EXPECT_EQ(gpu_group("cuda")->count, std::nullopt);
  for (const char* word : {"auto", "cuda:1", "2xcpu", "auto:0", "GPU-1"})
    EXPECT_FALSE(gpu_group(word)) << word;
}

TEST(Devices, UuidsAndPciBusIdsNameGpus) {
  for (const std::string word : {"GPU-1b2c3d4e", "GPU-1b2c3d4e-0000-1111-2222-333344445555",
                                 "MIG-1b2c", "MIG-GPU-1b2c3d4e-0000-1111-2222-333344445555/1/0",
                                 "0000:3b:00.0", "3B:00.0", "00000000:3B:00.0"}) {
    EXPECT_EQ(expand_devices({word}), Names{word});
    EXPECT_TRUE(names_gpu(word));
    EXPECT_EQ(expand_devices({"cuda:0", word}), (Names{"cuda:0", word}));
    EXPECT_NO_THROW(check_parameter_device(word)) << word;
  }
}

TEST(Devices, TheOldCountOfCpuDevicesIsReadWithANote) {
  EXPECT_EQ(devices_note({"cpu:3"}), "cpu:3 alone is read as 3 CPU devices; write 3xcpu");
  EXPECT_EQ(devices_note({"cpu:1"}), "cpu:1 alone is read as 1 CPU device; write 1xcpu");
}

TEST(Devices, OtherFormsHaveNoNote) {
  for (const Names& names : std::vector<Names>{
           {"auto"}, {"cpu"}, {"cpu:0"}, {"2xcpu"}, {"cuda:2"}, {"cpu:0", "cpu:1"}, {}, {"gpu"}})
    EXPECT_EQ(devices_note(names), "");
}

TEST(Devices, TheNoteNamesThePlaceOfTheOldForm) {
  auto warnings = [](const std::string& yaml, const Names& overrides) {
    return parse_config({{"run.yaml", yaml}}, overrides).warnings;
  };
  EXPECT_EQ(warnings("devices: cpu:2\n", {}),
            Names{"run.yaml:1:1: devices: cpu:2 alone is read as 2 CPU devices; write 2xcpu"});
  EXPECT_EQ(warnings("", {"devices=cpu:4"}),
            Names{"command line: devices: cpu:4 alone is read as 4 CPU devices; write 4xcpu"});
  EXPECT_EQ(warnings("devices: cpu:2\n", {"devices=2xcpu"}), Names{});
  EXPECT_EQ(warnings("devices: [cpu:0, cpu:1]\n", {}), Names{});
}

// The config that a run directory keeps is read again without a note.
TEST(Devices, PrintedDevicesReadBackTheSame) {
  for (const char* word : {"cpu", "cpu:2", "3xcpu", "2xcuda", "cuda:1", "auto"}) {
    RunConfig config = parse_config({}, {fmt::format("devices={}", word)}).config;
    ResolvedConfig again = parse_config({{"config.yaml", to_yaml(config)}}, {});
    EXPECT_EQ(again.config.devices, config.devices) << word;
    EXPECT_EQ(again.warnings, Names{}) << word;
  }
}

TEST(Devices, MayHaveMemoryLimitsOfTheirOwn) {
  LimitedDevice pci = split_limit("0000:3b:00.0:8GiB");
  EXPECT_EQ(pci.name, "0000:3b:00.0");
  EXPECT_EQ(pci.limit, "8GiB");
  for (const char* whole : {"cuda:0", "cpu:2", "auto:4", "0000:3b:00.0", "3b:00.0", "2xcuda"}) {
    EXPECT_EQ(split_limit(whole).name, whole);
    EXPECT_EQ(split_limit(whole).limit, "");
  }
  EXPECT_EQ(without_limits({"cuda:0:8GiB", "cuda:1"}), (Names{"cuda:0", "cuda:1"}));
}

TEST(Devices, LimitsMayBeMapsAndAreReadBack) {
  Names asked = {"cuda:0:8GiB", "cuda:0:4GiB", "cuda:1"};
  for (const char* text : {"devices: [{cuda:0: 8GiB}, {cuda:0: 4GiB}, cuda:1]\n",
                           "devices:\n  - cuda:0: 8GiB\n  - {0: 4GiB}\n  - 1\n"}) {
    RunConfig config = parse_config({{"run.yaml", text}}, {}).config;
    EXPECT_EQ(config.devices, asked) << text;
    EXPECT_EQ(parse_config({{"config.yaml", to_yaml(config)}}, {}).config.devices, asked);
  }
  EXPECT_EQ(parse_config({}, {"devices=[cuda:0:8GiB,cuda:0:4GiB,cuda:1]"}).config.devices, asked);
  EXPECT_EQ(parse_config({}, {"devices={cpu:0: 2GiB}"}).config.devices, Names{"cpu:0:2GiB"});
}

TEST(Devices, WrongLimitsAreRefused) {
  auto message = [](const Names& names) {
    return message_of(Category::config, [&] { expand_devices(names); });
  };
  EXPECT_THAT(message({"cuda:0:8"}), HasSubstr("8 has no unit of bytes"));
  EXPECT_THAT(message({"cuda:0:8Gib", "cuda:1"}), HasSubstr("does not end in a unit of bytes"));
  EXPECT_THAT(message({"cuda:0:"}), HasSubstr("no limit behind its last colon; write cuda:0, or"));
  EXPECT_THAT(message({"cuda:0:auto"}), HasSubstr("no limit behind its last colon"));
  EXPECT_THAT(message({"2xcuda:8GiB"}), HasSubstr("a memory limit belongs to a single device"));
  EXPECT_THAT(message({"cuda:8GiB"}), HasSubstr("a memory limit belongs to a single device"));
  EXPECT_THAT(message({"cpu:0:1GiB", "cpu:0:2GiB"}), HasSubstr("cpu:0 is in the list twice"));
}

TEST(Devices, OtherWordsAreRefused) {
  for (const std::string word :
       {"",        "gpu",     "cpu:",      "cpu:-1",   "cpu:1.5",   "cpu:2x",   "cuda:99999999999",
        "CUDA:0",  "cuda0",   "cpu: 1",    "cpu:1025", "0xcpu",     "xcpu",     "2xgpu",
        "2x",      "-1xcpu",  "2 xcpu",    "2xcpu:0",  "1025xcpu",  "2cpu",     "2XCPU",
        "auto:0",  "auto:",   "auto:-1",   "GPU-",     "GPU-1b 2c", "gpu-1b2c", "3b:00",
        "3b:00.8", "3g:00.0", "3b:00.0.0", "0:3b:00.0"}) {
    EXPECT_THROW(expand_devices({word}), Error) << word;
    EXPECT_THROW(expand_devices({"cuda:0", word}), Error) << word;
  }
}

TEST(Devices, ARefusalSaysWhatToWrite) {
  auto message = [](const Names& names) {
    return message_of(Category::config, [&] { expand_devices(names); });
  };
  const std::string forms =
      "write auto, auto:N (N idle GPUs), cpu, cuda, a number of devices (2xcpu, 4xcuda), a name "
      "(cuda:1, a GPU's UUID or PCI bus id) or a list of names ([cuda:0, cuda:1], [0, 1])";
  EXPECT_EQ(message({"gpu"}), "'gpu' is not a device; " + forms + "; did you mean 'cuda'?");
  EXPECT_EQ(message({"gpu:1"}), "'gpu:1' is not a device; " + forms + "; did you mean 'cuda:1'?");
  EXPECT_EQ(message({"2xgpu"}), "'2xgpu' is not a device; " + forms + "; did you mean '2xcuda'?");
  EXPECT_EQ(message({"cud"}), "'cud' is not a device; " + forms + "; did you mean 'cuda'?");
  EXPECT_EQ(message({"tpu:0"}), "'tpu:0' is not a device; " + forms);
  EXPECT_EQ(message({"2"}),
            "'2' may be a number of GPUs or a GPU's number; write 2xcuda or cuda:2");
  EXPECT_EQ(message({}), "the list of devices is empty; " + forms);
  EXPECT_EQ(message({"cpu:0", "2xcpu"}),
            "'2xcpu' cannot be in a list; a list names single devices, such as [cuda:0, cuda:1]");
  EXPECT_EQ(message({"cpu:0", "cpu:0"}), "cpu:0 is in the list twice; name each CPU device once");
}

TEST(Devices, ParameterDeviceIsASingleOne) {
  for (const std::string word : {"auto", "cpu", "cpu:0", "cuda:1"}) {
    EXPECT_NO_THROW(check_parameter_device(word)) << word;
  }
  for (const std::string word : {"", "cuda", "gpu", "cuda:x", "2xcpu"}) {
    EXPECT_THROW(check_parameter_device(word), Error) << word;
  }
}

}  // namespace
}  // namespace spire
