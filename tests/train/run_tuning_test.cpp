#include "engine/train/run_tuning.h"

#include <thread>

#include <gmock/gmock.h>

#include "tests/base/message_of.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Listener : public Observer {
 public:
  void on_note(std::string_view text) override { notes.emplace_back(text); }
  void on_warning(std::string_view text) override { warnings.emplace_back(text); }
  std::vector<std::string> notes, warnings;
};

std::string text_of(const std::string& key, const std::string& engine) {
  TuningChoices choices;
  choices.set(key, engine);
  return choices.to_text();
}

class RunTuning : public CheckpointTest {
 protected:
  RunTuning() { config.autotune_cache = (folder / "tuning.txt").string(); }

  CudaConfig config;
  Listener heard;
};

TEST_F(RunTuning, ARunKeepsWhatItMeasuresForTheNext) {
  auto first = open_tuning(config, {.gpus = true}, heard);
  EXPECT_TRUE(first->measures());
  first->keep("k", "e1", true);
  keep_tuning(config, *first, heard);
  EXPECT_THAT(heard.notes,
              ElementsAre(HasSubstr("fastest for 1 operation; kept in " + config.autotune_cache)));
  auto second = open_tuning(config, {.gpus = true}, heard);
  EXPECT_EQ(recorded_text(second.get()), "");
  EXPECT_EQ(second->find("k"), "e1");
  EXPECT_EQ(recorded_text(second.get()), text_of("k", "e1"));
  keep_tuning(config, *second, heard);
  EXPECT_EQ(heard.notes.size(), 1u);
  EXPECT_THAT(heard.warnings, IsEmpty());
}

TEST_F(RunTuning, NotesNativeKernelsWithoutRivals) {
  auto tuning = open_tuning(config, {.gpus = true}, heard);
  tuning->keep("a slow one", "own", false);
  tuning->keep("another", "own mma", false);
  tuning->keep("of a library", "e1", false);
  keep_tuning(config, *tuning, heard);
  EXPECT_THAT(heard.notes,
              ElementsAre(AllOf(HasSubstr("own kernels"), HasSubstr("for 2 operations"),
                                HasSubstr("libnvrtc): a slow one"))));
  auto quick = open_tuning(config, {.gpus = true}, heard);
  quick->keep("a quick one", "own", true);
  keep_tuning(config, *quick, heard);
  EXPECT_EQ(heard.notes.size(), 2u);  // the second one: it was measured
  EXPECT_THAT(heard.warnings, IsEmpty());
}

TEST_F(RunTuning, AResumedRunKeepsItsOwnChoices) {
  auto other = open_tuning(config, {.gpus = true}, heard);
  other->keep("k", "of the cache", true);
  keep_tuning(config, *other, heard);
  auto tuning = open_tuning(config, {.recorded = text_of("k", "its own"), .gpus = true}, heard);
  EXPECT_EQ(tuning->find("k"), "its own");
}

TEST_F(RunTuning, OnCpusTheRecordIsCarriedOnAndNothingIsRead) {
  write_bytes(config.autotune_cache, "not ours");
  auto tuning = open_tuning(config, {.recorded = text_of("k", "e1"), .gpus = false}, heard);
  EXPECT_FALSE(tuning->measures());
  EXPECT_EQ(recorded_text(tuning.get()), text_of("k", "e1"));
  EXPECT_THAT(heard.warnings, IsEmpty());
}

TEST_F(RunTuning, WithoutAutotuneThereIsNone) {
  config.autotune = false;
  EXPECT_EQ(open_tuning(config, {.recorded = text_of("k", "e1"), .gpus = true}, heard), nullptr);
  EXPECT_EQ(recorded_text(nullptr), "");
}

TEST_F(RunTuning, ADamagedCacheIsAWarningADamagedRecordAnError) {
  write_bytes(config.autotune_cache, "not ours");
  EXPECT_TRUE(open_tuning(config, {.gpus = true}, heard)->measures());
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("engines are measured again")));
  EXPECT_THAT(
      message_of(Category::checkpoint,
                 [&] { open_tuning(config, {.recorded = "not ours", .gpus = true}, heard); }),
      HasSubstr("the checkpoint's record of engines"));
}

TEST_F(RunTuning, ACacheThatCannotBeWrittenIsAWarning) {
  write_bytes(folder / "file", "");
  config.autotune_cache = (folder / "file" / "tuning.txt").string();
  auto tuning = open_tuning(config, {.gpus = true}, heard);
  tuning->keep("k", "e1", true);
  keep_tuning(config, *tuning, heard);
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("tuning.txt: cannot be read: Not a directory"),
                                          HasSubstr("set cuda.autotune_cache to a file")));
  config.autotune_cache = "none";
  keep_tuning(config, *tuning, heard);
  EXPECT_EQ(heard.warnings.size(), 2u);
  EXPECT_THAT(heard.notes, ElementsAre(HasSubstr("fastest for 1 operation")));
}

TEST_F(RunTuning, AnEngineThatIsGoneIsAWarning) {
  auto tuning = open_tuning(config, {.recorded = text_of("k", "gone"), .gpus = true}, heard);
  tuning->keep("k", "e1", true);
  keep_tuning(config, *tuning, heard);
  EXPECT_THAT(heard.warnings, ElementsAre(HasSubstr("1 of the engines chosen before cannot")));
}

TEST_F(RunTuning, OtherRanksMeasureNothingAndGetTheChoicesOfTheFirst) {
  auto groups = threads_groups(3);
  std::vector<std::unique_ptr<Tuning>> tunings;
  for (int rank = 0; rank < 3; ++rank) {
    tunings.push_back(open_tuning(config, {.gpus = true, .first = rank == 0}, heard));
    EXPECT_EQ(tunings.back()->measures(), rank == 0);
  }
  tunings[0]->keep("k", "e1", true);
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] { share_tuning(*tunings[rank], *groups[rank]); });
  for (auto& thread : threads) thread.join();
  for (auto& tuning : tunings) EXPECT_EQ(tuning->find("k"), "e1");
  share_tuning(*tunings[0], *single_process());
}

TEST(LibraryVersions, AreEmptyOnCpus) {
  EXPECT_TRUE(library_versions(DeviceKind::cpu).empty());
}

TEST(LibraryVersions, NamesThoseThatChanged) {
  LibraryVersions now{{"cuBLASLt", "13.1.0"}, {"cuDNN", "9.19.0"}};
  EXPECT_EQ(changed_versions({{"cuBLASLt", "13.0.2"}, {"cuDNN", "9.19.0"}}, now),
            "cuBLASLt is 13.1.0, was 13.0.2");
  EXPECT_EQ(changed_versions({{"cuBLASLt", "13.0.2"}, {"cuDNN", "9.10.1"}}, now),
            "cuBLASLt is 13.1.0, was 13.0.2; cuDNN is 9.19.0, was 9.10.1");
}

TEST(LibraryVersions, AMissingVersionIsNoChange) {
  LibraryVersions gpu{{"cuBLASLt", "13.1.0"}, {"cuDNN", "9.19.0"}};
  EXPECT_EQ(changed_versions(gpu, gpu), "");
  EXPECT_EQ(changed_versions({}, gpu), "");
  EXPECT_EQ(changed_versions(gpu, {}), "");
}

}  // namespace
}  // namespace spire
