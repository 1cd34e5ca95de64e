#include "engine/checkpoint/checkpoint_store.h"

#include <csignal>
#include <sys/stat.h>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include "engine/checkpoint/checkpoint_file.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace spire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Store : public CheckpointTest {
 protected:
  std::filesystem::path directory = folder / "checkpoints";

  TrainingState state_at(int64_t step, int64_t best_step = -1) {
    TrainingState state = sample_state(step);
    state.best_step = best_step;
    return state;
  }
  // Saves every `stride` steps up to `last`, as a run does.
  void save_all(const CheckpointStore& store, int64_t last, int64_t stride,
                int64_t best_step = -1) {
    for (int64_t step = stride; step <= last; step += stride)
      save(store, state_at(step, step >= best_step ? best_step : -1));
  }
  static std::vector<int64_t> steps(const CheckpointStore& store) {
    std::vector<int64_t> steps;
    for (const auto& entry : store.list()) steps.push_back(entry.step);
    return steps;
  }
  static void damage(const std::filesystem::path& path) {
    std::string bytes = content_of(path);
    bytes[bytes.size() / 2] ^= 4;
    write_bytes(path, bytes);
  }
  int64_t newest(const CheckpointStore& store) {
    bad.clear();
    auto found = store.newest_intact([this](const auto& path, const std::string& reason) {
      bad.push_back(path.filename());
      EXPECT_THAT(reason, HasSubstr(path.string()));
    });
    return found ? found->state.step : -1;
  }
  std::vector<std::string> bad;  // files that the last newest() reported
};

TEST_F(Store, AnEmptyOrMissingFolderHasNothing) {
  CheckpointStore store(directory, {});
  EXPECT_THAT(store.list(), IsEmpty());
  EXPECT_EQ(store.latest(), std::nullopt);
  EXPECT_EQ(newest(store), -1);
  EXPECT_THAT(store.remove_after(0), IsEmpty());
}

TEST_F(Store, SavesUnderNamesThatSortAndPointsToThem) {
  CheckpointStore store(directory, {});
  save(store, state_at(7, 7));
  auto path = save(store, state_at(1000, 7));
  EXPECT_EQ(path.filename(), "step_00001000.h5");
  EXPECT_EQ(content_of(directory / "latest"), "step_00001000.h5\n");
  EXPECT_EQ(content_of(directory / "best"), "step_00000007.h5\n");
  EXPECT_EQ(store.latest(), path);
  EXPECT_EQ(store.best(), store.path_of(7));
}

TEST_F(Store, KeepsTheLastTheMilestonesAndTheBest) {
  CheckpointStore last(directory / "a", {.keep_last = 2, .keep_every = 0});
  save_all(last, 60, 10);
  EXPECT_THAT(steps(last), ElementsAre(50, 60));

  CheckpointStore milestones(directory / "b", {.keep_last = 2, .keep_every = 30});
  save_all(milestones, 100, 10);
  EXPECT_THAT(steps(milestones), ElementsAre(30, 60, 90, 100));

  CheckpointStore best(directory / "c", {.keep_last = 1, .keep_every = 0});
  save_all(best, 60, 10, 20);
  EXPECT_THAT(steps(best), ElementsAre(20, 60));
  save(best, state_at(70, 70));  // a new best: the old one is like any other
  EXPECT_THAT(steps(best), ElementsAre(70));
}

// As of a run that goes on from a step before a better one, and of one that branches off.
TEST_F(Store, TheBestIsThatOfTheState) {
  CheckpointStore store(directory / "a", {.keep_last = 1, .keep_every = 0});
  save(store, state_at(10, 10));
  save(store, state_at(20, 10));
  write_bytes(directory / "a" / "best", "step_00000030.h5\n");
  save(store, state_at(40, 10));
  EXPECT_THAT(steps(store), ElementsAre(10, 40));
  EXPECT_EQ(store.best(), store.path_of(10));

  CheckpointStore branch(directory / "b", {.keep_last = 1, .keep_every = 0});
  save(branch, state_at(40, 10));
  EXPECT_EQ(branch.best(), std::nullopt);
  branch.take_from(directory / "a", 10);
  branch.take_from(directory / "a", 20);  // which is not there
  EXPECT_EQ(content_of(branch.path_of(10)), content_of(store.path_of(10)));
  save(branch, state_at(50, 10));
  EXPECT_THAT(steps(branch), ElementsAre(10, 50));
  EXPECT_EQ(branch.best(), branch.path_of(10));
}

// As after a save that failed for want of room.
TEST_F(Store, WithoutTheFileOfTheBestStepTheOneThatBestPointsToStays) {
  CheckpointStore store(directory, {.keep_last = 1, .keep_every = 0});
  save(store, state_at(10, 10));
  for (int64_t step : {30, 40, 50}) save(store, state_at(step, 20));
  EXPECT_THAT(steps(store), ElementsAre(10, 50));
  EXPECT_EQ(store.best(), store.path_of(10));
  save(store, state_at(60, 60));
  EXPECT_THAT(steps(store), ElementsAre(60));
}

TEST_F(Store, KeepsTheOneOfTheRollbackStep) {
  auto multiple_of_40 = [](int64_t saved) { return saved / 40 * 40; };
  CheckpointStore store(directory, {.keep_last = 1, .rollback_step = multiple_of_40});
  save_all(store, 60, 10);
  EXPECT_THAT(steps(store), ElementsAre(40, 60));
  save_all(store, 100, 10);
  EXPECT_THAT(steps(store), ElementsAre(80, 100));
}

TEST_F(Store, LeavesWhatTheRunDoesNotOwn) {
  save_all(CheckpointStore(directory, {.keep_last = 9}), 30, 10);
  auto own = [](const std::string& name) { return name > "step_00000030.h5"; };
  CheckpointStore store(directory, {.keep_last = 1, .is_ours = own});
  for (int64_t step : {40, 50}) save(store, state_at(step));
  EXPECT_THAT(steps(store), ElementsAre(10, 20, 30, 50));
  EXPECT_THAT(store.of_others(),
              ElementsAre(store.path_of(10), store.path_of(20), store.path_of(30)));
  store.remove_after(10);
  EXPECT_THAT(steps(store), ElementsAre(10, 20, 30));
}

TEST_F(Store, KeepLastMustBePositive) {
  EXPECT_THROW(CheckpointStore(directory, {.keep_last = 0, .keep_every = 0}), Error);
}

TEST_F(Store, OtherFilesAreNeitherListedNorDeleted) {
  CheckpointStore store(directory, {.keep_last = 1, .keep_every = 0});
  std::filesystem::create_directories(directory);
  for (const char* name : {"step_.h5", "step_x1.h5", "step_1.h5.bak", "notes.txt", "step_-5.h5"})
    write_bytes(directory / name, "mine");
  save_all(store, 3, 1);
  store.remove_after(0);
  EXPECT_THAT(store.list(), IsEmpty());
  EXPECT_EQ(content_of(directory / "notes.txt"), "mine");
  EXPECT_EQ(content_of(directory / "step_x1.h5"), "mine");
}

TEST_F(Store, BadFilesAreNamedAndTheNewestGoodOneIsUsed) {
  CheckpointStore store(directory, {.keep_last = 5, .keep_every = 0});
  save_all(store, 50, 10);
  damage(store.path_of(50));
  write_bytes(store.path_of(40), "");
  EXPECT_EQ(newest(store), 30);
  EXPECT_THAT(bad, ElementsAre("step_00000050.h5", "step_00000040.h5"));
  for (int64_t step : {10, 20, 30}) damage(store.path_of(step));
  EXPECT_EQ(newest(store), -1);
  EXPECT_EQ(bad.size(), 5u);
  damage(store.path_of(50));  // the same bit twice: intact again
  EXPECT_EQ(newest(store), 50);
  EXPECT_THAT(bad, IsEmpty());
}

TEST_F(Store, DanglingOrTornPointersPointNowhere) {
  CheckpointStore store(directory, {});
  save(store, state_at(10, 10));
  std::filesystem::remove(store.path_of(10));
  EXPECT_EQ(store.best(), std::nullopt);
  write_bytes(directory / "latest", "step_000");
  EXPECT_EQ(store.latest(), std::nullopt);
  write_bytes(directory / "latest", "../../etc/passwd\n");
  EXPECT_EQ(store.latest(), std::nullopt);
}

TEST_F(Store, ResumingRemovesLaterCheckpoints) {
  CheckpointStore store(directory, {.keep_last = 3, .keep_every = 0});
  save_all(store, 50, 10);  // 30 40 50
  EXPECT_THAT(store.remove_after(30), ElementsAre(store.path_of(40), store.path_of(50)));
  save(store, state_at(35));
  EXPECT_THAT(steps(store), ElementsAre(30, 35));
  EXPECT_EQ(newest(store), 35);
}

// A user may have renamed the file.
TEST_F(Store, TheStepOfACheckpointCountsNotThatOfItsName) {
  CheckpointStore store(directory, {.keep_last = 5, .keep_every = 0});
  save_all(store, 30, 10);
  std::filesystem::rename(store.path_of(10), store.path_of(90));
  EXPECT_EQ(newest(store), 30);
  EXPECT_THAT(bad, ElementsAre("step_00000090.h5"));
  store.newest_intact([](const auto&, const std::string& text) {
    EXPECT_THAT(text, HasSubstr("step_00000090.h5: is of step 10, which counts"));
  });
  std::filesystem::remove(store.path_of(20));
  std::filesystem::remove(store.path_of(30));
  EXPECT_EQ(newest(store), 10);
  EXPECT_THAT(store.remove_after(10, store.path_of(90)), IsEmpty());
  EXPECT_EQ(newest(store), 10);
}

TEST_F(Store, AFolderThatCannotBeListedIsNotEmpty) {
  write_bytes(directory, "a file in its place");
  CheckpointStore store(directory, {});
  for (const char* call : {"list", "newest", "remove"}) {
    EXPECT_THAT(checkpoint_error([&] {
                  if (call[0] == 'l') store.list();
                  if (call[0] == 'n') store.newest_intact({});
                  if (call[0] == 'r') store.remove_after(0);
                }),
                HasSubstr("checkpoints: cannot be listed: Not a directory"));
  }
}

TEST_F(Store, APointerThatIsAPipeIsAnErrorAndHangsNothing) {
  CheckpointStore store(directory, {});
  save(store, state_at(10, 10));
  std::filesystem::remove(directory / "best");
  ASSERT_EQ(::mkfifo((directory / "best").c_str(), 0600), 0);
  EXPECT_THAT(checkpoint_error([&] { store.best(); }),
              HasSubstr("best: is a FIFO, not a regular file"));
}

TEST_F(Store, ClearsItsOwnFilesAndNoOthers) {
  CheckpointStore store(directory, {});
  save_all(store, 20, 10, 10);
  for (const char* name : {"notes.tmp", "step_1.h5.bak", "latest.txt"})
    write_bytes(directory / name, "mine");
  write_bytes(store.path_of(30).string() + ".tmp", "torn");
  EXPECT_EQ(store.clear().size(), 5u);
  for (const char* name : {"notes.tmp", "step_1.h5.bak", "latest.txt"})
    EXPECT_EQ(content_of(directory / name), "mine");
  EXPECT_THAT(store.list(), IsEmpty());
  EXPECT_EQ(store.latest(), std::nullopt);
}

TEST_F(Store, SavingBelowNewerFilesKeepsWhatWasSaved) {
  CheckpointStore store(directory, {.keep_last = 1, .keep_every = 0});
  save(store, state_at(50));
  save(store, state_at(20));
  EXPECT_THAT(steps(store), ElementsAre(20, 50));
  EXPECT_EQ(store.latest(), store.path_of(20));
}

// A killed writer leaves a part of the new file under the temporary name, and nothing else.
TEST_F(Store, KilledAtAnyByteTheOldCheckpointStillResumes) {
  CheckpointStore store(directory, {});
  save(store, state_at(10));
  write_checkpoint(folder / "next.h5", state_at(20));
  std::string next = content_of(folder / "next.h5");
  for (size_t length = 0; length <= next.size(); length += 1 + next.size() / 50) {
    std::filesystem::path temporary = store.path_of(20).string() + ".tmp";
    write_bytes(temporary, next.substr(0, length));
    EXPECT_EQ(newest(store), 10);
    EXPECT_THAT(bad, IsEmpty());
    EXPECT_THAT(store.remove_after(10), ElementsAre(temporary));
  }
  save(store, state_at(20));
  EXPECT_EQ(newest(store), 20);
}

// Killed after the rename, before the pointer: the file counts, not the pointer.
TEST_F(Store, KilledBeforeThePointerTheNewFileResumes) {
  CheckpointStore store(directory, {});
  save(store, state_at(10));
  write_checkpoint(store.path_of(20), state_at(20));
  EXPECT_EQ(store.latest(), store.path_of(10));
  EXPECT_EQ(newest(store), 20);
}

// A child process saves step after step and reports each through a pipe; it is killed during a
// later save.
void save_until_killed(const CheckpointStore& store, int64_t first, int said) noexcept {
  for (int64_t step = first;; ++step) {
    save(store, sample_state(step));
    if (::write(said, "s", 1) != 1) ::_exit(1);
  }
}

TEST_F(Store, AfterAKillItResumesAtTheLastFinishedSaveOrLater) {
  CheckpointStore store(directory, {.keep_last = 2, .keep_every = 0});
  RandomStream random(3, Purpose::shuffle);
  int64_t finished = 0;
  for (uint64_t kill = 0; kill < 12; ++kill) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_until_killed(store, finished + 1, ends[1]);
    ::close(ends[1]);
    char byte;
    for (uint32_t saves = 1 + random.below(2 * kill, 3); saves > 0; --saves, ++finished)
      ASSERT_EQ(::read(ends[0], &byte, 1), 1);
    for (uint32_t yields = random.below(2 * kill + 1, 20000); yields > 0; --yields) ::sched_yield();
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    int64_t resumed = newest(store);
    EXPECT_GE(resumed, finished);
    EXPECT_THAT(bad, IsEmpty());
    store.remove_after(resumed);
    finished = resumed;
  }
}

TEST_F(Store, AFolderThatCannotBeMadeIsAnError) {
  write_bytes(folder / "file", "");
  CheckpointStore store(folder / "file" / "checkpoints", {});
  EXPECT_THAT(checkpoint_error([&] { save(store, state_at(1)); }), HasSubstr("cannot create"));
}

}  // namespace
}  // namespace spire
