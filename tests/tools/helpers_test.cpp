// Helpers of the trainer: keys, files, processes, reports.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/spire.h>

#include "engine/base/files.h"
#include "engine/config/devices.h"
#include "tests/base/message_of.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(FindKey, TakesWholeKeysLastPartsAndWordsOfOthers) {
  EXPECT_EQ(find_key("optimizer.momentum"), "optimizer.momentum");
  EXPECT_EQ(find_key("momentum"), "optimizer.momentum");
  EXPECT_EQ(find_key("learning_rate"), "optimizer.lr");
  EXPECT_EQ(find_key("no_such_word"), "");
}

TEST(Values, ParseWholly) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_duration("1h30m"), 5400);
  EXPECT_THAT(message_of(Category::config, [] { parse_integer("12x"); }), HasSubstr("12x"));
  EXPECT_THAT(message_of(Category::config, [] { parse_number("nan"); }), HasSubstr("nan"));
}

TEST(WholeFile, AppearsAtItsCommit) {
  Folder folder;
  fs::path path = folder / "page.html";
  {
    WholeFile file(path, Category::config);
    file.write("one ");
    file.write("two");
    EXPECT_FALSE(fs::exists(path));
    file.commit();
  }
  EXPECT_EQ(read_text(path, Category::config), "one two");
  { WholeFile(path, Category::config).write("lost"); }
  EXPECT_EQ(read_text(path, Category::config), "one two");
  EXPECT_THAT(
      message_of(Category::config, [&] { write_whole_file(path, "new", Category::config, false); }),
      HasSubstr(path.string()));
  EXPECT_THAT(message_of(Category::config, [&] { WholeFile(folder.path(), Category::config); }),
              HasSubstr(folder.path().string()));
}

TEST(ReadText, NamesWhatIsMissingOrTooLong) {
  Folder folder;
  fs::path path = folder / "prompt";
  EXPECT_EQ(read_text_if_there(path, Category::data), std::nullopt);
  EXPECT_THAT(message_of(Category::data, [&] { read_text(path, Category::data); }),
              HasSubstr(path.string()));
  std::ofstream(path) << "12345";
  EXPECT_EQ(read_text(path, Category::data, 5), "12345");
  EXPECT_THAT(message_of(Category::data, [&] { read_text(path, Category::data, 4); }),
              HasSubstr(path.string()));
}

TEST(LocalRanks, TellEachProcessItsRank) {
  LocalRanks ranks(3), others(3);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    auto variables = ranks.variables(rank);
    std::map<std::string, std::string> values(variables.begin(), variables.end());
    Launch launch = read_launch([&](const std::string& name) -> std::optional<std::string> {
      auto found = values.find(name);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    });
    EXPECT_EQ(launch.rank, rank);
    EXPECT_EQ(launch.size, 3);
    EXPECT_EQ(launch.master_address, "127.0.0.1");
    EXPECT_EQ(launch.secret.size(), 64u);
  }
  EXPECT_NE(ranks.variables(0), others.variables(0)) << "two runs must not meet";
  EXPECT_EQ(message_of(Category::config, [] { LocalRanks none(0); }),
            "processes: 0; a run has at least 1");
}

TEST(DeviceWords, NameDevicesThatNeedNotBeHere) {
  EXPECT_EQ(expand_devices({"2xcpu"}), (std::vector<std::string>{"cpu:0", "cpu:1"}));
  EXPECT_EQ(gpu_group("auto:2")->count, 2);
  EXPECT_EQ(split_limit("cuda:0:8GiB").limit, "8GiB");
}

}  // namespace
}  // namespace spire
