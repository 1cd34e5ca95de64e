#include <sys/stat.h>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/base/write_file.h"
#include "engine/train/run_tuning.h"
#include "tests/base/message_of.h"
#include "tests/base/set_variable.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace spire {
namespace {

using testing::HasSubstr;

Tuning measured(const std::string& key, const std::string& engine) {
  Tuning tuning({.measures = true});
  tuning.keep(key, engine, true);
  return tuning;
}

class TuningCache : public CheckpointTest {
 protected:
  std::string choice(const std::string& key) const {
    auto content = read_tuning_cache(path);
    EXPECT_EQ(content.problem, "");
    const std::string* found = content.choices.find(key);
    return found ? *found : "none";
  }
  std::filesystem::path path = folder / "deep" / "er" / "tuning.txt";
};

TEST_F(TuningCache, AFileThatIsNotThereIsEmpty) {
  auto content = read_tuning_cache(path);
  EXPECT_TRUE(content.choices.empty());
  EXPECT_EQ(content.problem, "");
  EXPECT_TRUE(read_tuning_cache({}).choices.empty());
}

TEST_F(TuningCache, AddingMakesTheFolders) {
  add_to_tuning_cache(path, measured("k", "e1"));
  add_to_tuning_cache(path, measured("l", "e2"));
  EXPECT_EQ(choice("k"), "e1");
  EXPECT_EQ(choice("l"), "e2");
}

TEST_F(TuningCache, TheFirstToMeasureDecides) {
  add_to_tuning_cache(path, measured("k", "e1"));
  add_to_tuning_cache(path, measured("k", "e2"));
  EXPECT_EQ(choice("k"), "e1");
}

TEST_F(TuningCache, AChoiceThatCannotBeUsedAnyMoreIsReplaced) {
  add_to_tuning_cache(path, measured("k", "e1"));
  Tuning tuning({.cached = read_tuning_cache(path).choices, .measures = true});
  EXPECT_EQ(tuning.find("k"), "e1");
  tuning.keep("k", "e2", true);
  add_to_tuning_cache(path, tuning);
  EXPECT_EQ(choice("k"), "e2");
}

TEST_F(TuningCache, ADamagedOrForeignFileIsAProblemAndIsReplaced) {
  add_to_tuning_cache(path, measured("k", "e1"));
  std::string whole = content_of(path);
  for (const std::string& damaged :
       {std::string(), whole.substr(0, whole.size() - 3), whole + "x", std::string("{}")}) {
    write_bytes(path, damaged);
    auto content = read_tuning_cache(path);
    EXPECT_TRUE(content.choices.empty());
    EXPECT_THAT(content.problem, HasSubstr(path.string())) << damaged;
    add_to_tuning_cache(path, measured("l", "e2"));
    EXPECT_EQ(choice("l"), "e2");
  }
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_THAT(read_tuning_cache(path).problem, HasSubstr("is a folder, not a regular file"));
}

TEST_F(TuningCache, AFifoIsRefusedWithoutWaiting) {
  std::filesystem::create_directories(path.parent_path());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(read_tuning_cache(path).problem, HasSubstr("is a FIFO"));
  EXPECT_THROW(add_to_tuning_cache(path, measured("k", "e")), Error);
  std::filesystem::path other = folder / "other.txt";
  ASSERT_EQ(::mkfifo((other.string() + ".lock").c_str(), 0600), 0);
  EXPECT_THROW(add_to_tuning_cache(other, measured("k", "e")), Error);
}

TEST_F(TuningCache, AFileThatCannotBeWrittenIsAnErrorThatNamesIt) {
  write_bytes(folder / "file", "");
  for (const std::filesystem::path& bad :
       {folder / "file" / "tuning.txt", folder / "file" / "deep" / "tuning.txt"})
    EXPECT_THAT(message_of(Category::config, [&] { add_to_tuning_cache(bad, measured("k", "e")); }),
                HasSubstr((folder / "file").string()));
}

// Each thread adds its own choices, one at a time, and all add one in common.
TEST_F(TuningCache, WritersAtATimeLoseNothing) {
  constexpr int writers = 4, each = 12;
  std::vector<std::thread> threads;
  for (int w = 0; w < writers; ++w) {
    threads.emplace_back([this, w] {
      for (int i = 0; i < each; ++i) {
        Tuning tuning = measured(fmt::format("{} of {}", i, w), "e");
        tuning.keep("common", fmt::format("e{}", w), true);
        add_to_tuning_cache(path, tuning);
        EXPECT_EQ(read_tuning_cache(path).problem, "");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(read_tuning_cache(path).choices.size(), size_t{writers * each + 1});
}

TEST_F(TuningCache, AutoIsInTheUsersCacheFolder) {
  EXPECT_EQ(tuning_cache_path("none"), "");
  EXPECT_EQ(tuning_cache_path("a/b.txt"), "a/b.txt");
  SetVariable home("HOME", "/home/somebody");
  {
    SetVariable cache("XDG_CACHE_HOME", "/var/cache");
    EXPECT_EQ(tuning_cache_path("auto"), "/var/cache/spire/tuning.txt");
  }
  using Value = std::optional<std::string>;
  for (const Value& no_folder : {Value(), Value(""), Value("relative")}) {
    SetVariable cache("XDG_CACHE_HOME", no_folder);
    EXPECT_EQ(tuning_cache_path("auto"), "/home/somebody/.cache/spire/tuning.txt");
    SetVariable homeless("HOME", std::nullopt);
    EXPECT_EQ(tuning_cache_path("auto"), "");
  }
}

}  // namespace
}  // namespace spire
