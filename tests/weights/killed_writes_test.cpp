// Weights whose writer is killed between two of its steps: no reader finds new files beside old
// ones, and the next write leaves nothing of the killed one.
#include <functional>
#include <set>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/base/read_file.h"
#include "engine/weights/files/safetensors_reader.h"
#include "engine/weights/files/weight_writers.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace {

int syncs_to_live = -1;  // of a process that dies in place of the next one; negative: it lives

}  // namespace

// In the place of libc's: between any two renames of a writer is one.
extern "C" int fsync(int file) {
  if (syncs_to_live == 0) ::_exit(9);
  if (syncs_to_live > 0) --syncs_to_live;
  return static_cast<int>(::syscall(SYS_fsync, file));
}

namespace spire {
namespace {

namespace fs = std::filesystem;

// Does the work in a process that dies at its n-th fsync. Returns false if it came to its end.
bool killed_at(int n, const std::function<void()>& work) {
  pid_t child = ::fork();
  if (child == 0) {
    syncs_to_live = n;
    work();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 9 || WEXITSTATUS(status) == 0));
  return WEXITSTATUS(status) == 9;
}

class KilledWrites : public CheckpointTest {
 protected:
  fs::path file() const { return folder / "model.safetensors"; }

  // Two tensors whose values are all `value`; shards hold one each.
  void write(float value, const std::string& config, uint64_t shard_bytes = 0,
             Existing existing = Existing::replace) const {
    auto read = [value](int64_t, std::span<float> out) { std::ranges::fill(out, value); };
    std::vector<TensorToWrite> tensors = {{"a", {300}, read}, {"b", {300}, read}};
    SafetensorsOptions options{.shard_bytes = shard_bytes, .existing = existing};
    if (!config.empty()) options.companion = {folder / "config.json", config};
    write_safetensors(file(), tensors, options);
  }
  // The value of all tensors: nothing where there are none, an error where they differ.
  std::optional<float> value() const {
    if (!is_safetensors(folder)) return std::nullopt;
    SafetensorsReader reader(folder);
    std::vector<float> all(600);
    reader.read(0, 0, 0, std::span(all).first(300));
    reader.read(0, 1, 0, std::span(all).last(300));
    EXPECT_EQ(std::set<float>(all.begin(), all.end()).size(), 1u);
    return all[0];
  }
  std::string config() const {
    return read_file_if_there(folder / "config.json", Category::config).value_or("");
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const fs::path& name : list_folder(folder, Category::config)) names.insert(name);
    return names;
  }
};

TEST_F(KilledWrites, LeaveNoWeightsBesideTheConfigOfOthers) {
  const std::set<std::string> pair = {"config.json", "model.safetensors"};
  int n = 0;
  for (bool killed = true; killed; ++n) {
    write(1, "first");
    ASSERT_EQ(names(), pair);
    killed = killed_at(n, [&] { write(2, "second"); });
    std::optional<float> found = value();
    if (found) {
      EXPECT_EQ(config(), *found == 1 ? "first" : "second");
    }
  }
  EXPECT_GE(n, 5);  // two files, their folder after each rename
  EXPECT_EQ(value(), 2);
  EXPECT_EQ(names(), pair);
}

// A config.json that is the same needs no replacement, so the weights are never away.
TEST_F(KilledWrites, OfTheSameConfigLeaveTheOldWeightsOrTheNew) {
  bool killed = true;
  for (int n = 0; killed; ++n) {
    write(1, "same");
    killed = killed_at(n, [&] { write(2, "same"); });
    EXPECT_TRUE(value() == 1 || value() == 2);
  }
  // Nor does a command that was killed before its weights had their name hinder the next one.
  fs::remove(file());
  EXPECT_NO_THROW(write(3, "same", 0, Existing::keep));
  EXPECT_EQ(value(), 3);
}

TEST_F(KilledWrites, LeaveNoShardsOfTwoModels) {
  bool killed = true;
  int n = 0;
  for (; killed; ++n) {
    write(1, "", 1200);
    killed = killed_at(n, [&] { write(2, "", 1200); });
    value();
  }
  EXPECT_GE(n, 7);
  EXPECT_EQ(value(), 2);
}

// Also those of another number of shards.
TEST_F(KilledWrites, AreSweptByTheNext) {
  write(1, "first", 1200);
  const std::set<std::string> good = names();
  ASSERT_EQ(good.size(), 4u);
  for (const char* left :
       {"model-00001-of-00002.safetensors.former", "model-00003-of-00007.safetensors.former",
        "model-00003-of-00007.safetensors.tmp", "model.safetensors.index.json.former",
        "model.safetensors.former", "config.json.former"})
    write_file_atomically(folder / left, "left", Category::config);
  const std::set<std::string> others = {"notes.former", "model-1-of-2.safetensors.former",
                                        "model-00001-of-00002.npz.former"};
  for (const std::string& other : others)
    write_file_atomically(folder / other, "somebody's", Category::config);
  write(2, "second", 1200);
  std::set<std::string> expected = good;
  expected.insert(others.begin(), others.end());
  EXPECT_EQ(names(), expected);
}

// The leading file of a group that cannot get its name: the old ones are back.
TEST_F(KilledWrites, ThatFailInsteadRestoreTheOldFiles) {
  write(1, "first", 1200);
  const std::set<std::string> good = names();
  auto read = [&](int64_t, std::span<float> out) {
    std::ranges::fill(out, 2.f);
    fs::remove(folder / "model-00002-of-00002.safetensors.tmp");
  };
  std::vector<TensorToWrite> tensors = {{"a", {300}, read}, {"b", {300}, read}};
  SafetensorsOptions options{.shard_bytes = 1200, .existing = Existing::replace};
  options.companion = {folder / "config.json", "second"};
  EXPECT_THROW(write_safetensors(file(), tensors, options), Error);
  EXPECT_EQ(names(), good);
  EXPECT_EQ(value(), 1);
  EXPECT_EQ(config(), "first");
}

}  // namespace
}  // namespace spire
