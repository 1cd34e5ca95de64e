#include "engine/base/write_file.h"

#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/base/file_size_limit.h"
#include "tests/base/folder.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

class AtomicFile : public ::testing::Test {
 protected:
  std::string text() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  Folder folder;
  std::filesystem::path path = folder / "file";
};

TEST_F(AtomicFile, WritesThePartsInOrderAndReplacesTheOldFile) {
  write_file_atomically(path, "old, and longer than the new", Category::data);
  std::array<std::string_view, 3> parts = {"a", "", "bc"};
  write_file_atomically(path, parts, Category::data);
  EXPECT_EQ(text(), "abc");
  EXPECT_FALSE(std::filesystem::exists(folder / "file.tmp"));
}

TEST_F(AtomicFile, AppearsOnlyWhenItIsCommitted) {
  write_file_atomically(path, "old", Category::data);
  {
    AtomicWriter given_up(path, Category::data);
    given_up.write("half");
    EXPECT_EQ(text(), "old");
  }
  EXPECT_EQ(text(), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "file.tmp"));
  AtomicWriter writer(path, Category::data);
  writer.write("a");
  writer.write("bc");
  writer.commit();
  EXPECT_EQ(text(), "abc");
}

TEST_F(AtomicFile, WritesOverATemporaryThatAKilledWriterLeft) {
  std::ofstream(folder / "file.tmp") << "a longer torn text";
  write_file_atomically(path, "new", Category::data);
  EXPECT_EQ(text(), "new");
  EXPECT_FALSE(std::filesystem::exists(folder / "file.tmp"));
}

// A limit on file sizes stands in for a full disk.
TEST_F(AtomicFile, AFullDiskLeavesTheOldFileAndNoTemporary) {
  write_file_atomically(path, "old", Category::data);
  for (Category category : {Category::data, Category::config}) {
    FileSizeLimit limit(1000);
    auto write = [&] { write_file_atomically(path, std::string(5000, 'x'), category); };
    EXPECT_THAT(message_of(Category::device, write),
                ::testing::HasSubstr(
                    "file.tmp: File too large: this process may write files of 1000 bytes (ulimit "
                    "-f); raise that limit; make room there"));
    EXPECT_EQ(text(), "old");
    EXPECT_FALSE(std::filesystem::exists(folder / "file.tmp"));
  }
}

TEST_F(AtomicFile, KeepsTheModeOfTheFileThatItReplaces) {
  for (unsigned mode : {0600u, 0640u, 0444u, 0755u}) {
    write_file_atomically(path, "old", Category::data);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    write_file_atomically(path, "new", Category::data);
    struct stat status = {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777u, mode);
    EXPECT_EQ(text(), "new");
  }
}

// Something else has the name of the file, or that of its temporary.
TEST_F(AtomicFile, ReplacesOnlyRegularFiles) {
  std::ofstream(folder / "other") << "other";
  using Make = std::function<void(const std::filesystem::path&)>;
  std::map<std::string, Make> kinds = {
      {"a folder", [](const auto& name) { std::filesystem::create_directory(name); }},
      {"a FIFO", [](const auto& name) { ASSERT_EQ(::mkfifo(name.c_str(), 0600), 0); }},
      {"a link", [](const auto& name) { std::filesystem::create_symlink("other", name); }}};
  for (const auto& [kind, make] : kinds) {
    for (const char* name : {"file", "file.tmp"}) {
      make(folder / name);
      auto before = std::filesystem::symlink_status(folder / name).type();
      std::string refused =
          message_of(Category::data, [&] { write_file_atomically(path, "x", Category::data); });
      EXPECT_THAT(refused, ::testing::HasSubstr(fmt::format(
                               "{}: is {}, but a regular file is needed there; move it away",
                               (folder / name).string(), kind)));
      EXPECT_EQ(std::filesystem::symlink_status(folder / name).type(), before);
      std::filesystem::remove(folder / name);
    }
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(AtomicFile, ExistingKeepReplacesOnlyEmptyFiles) {
  auto write = [&] { write_file_atomically(path, "new", Category::config, Existing::keep); };
  write();
  EXPECT_EQ(text(), "new");
  EXPECT_THAT(message_of(Category::config, write), ::testing::HasSubstr("is there already"));
  std::ofstream(path, std::ios::trunc).close();
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  write();
  EXPECT_EQ(text(), "new");
  std::filesystem::remove(path);
  std::ofstream(folder / "file.tmp") << "perhaps a user's own file";
  EXPECT_THAT(message_of(Category::config, write), ::testing::HasSubstr("file.tmp: is there"));
  std::filesystem::remove(folder / "file.tmp");
  AtomicWriter late(path, Category::config, Existing::keep);
  late.write("late");
  std::ofstream(path) << "first";
  EXPECT_THAT(message_of(Category::config, [&] { late.commit(); }),
              ::testing::HasSubstr("the result is in"));
  EXPECT_EQ(text(), "first");
  EXPECT_TRUE(std::filesystem::exists(folder / "file.tmp"));
}

TEST_F(AtomicFile, AFolderOfThatNameIsAnError) {
  std::filesystem::create_directory(path);
  EXPECT_THROW(write_file_atomically(path, "x", Category::data), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "file.tmp"));
}

}  // namespace
}  // namespace spire
