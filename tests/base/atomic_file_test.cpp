#include <gmock/gmock.h>
#include <spire/base/atomic_file.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <array>
#include <csignal>
#include <fstream>

namespace spire {
namespace {

class AtomicFile : public ::testing::Test {
 protected:
  AtomicFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "spire_atomic_XXXXXX");
    folder = ::mkdtemp(pattern.data());
    path = folder / "file";
  }
  ~AtomicFile() override { std::filesystem::remove_all(folder); }
  std::string text() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::filesystem::path folder, path;
};

TEST_F(AtomicFile, WritesTheConcatenatedPartsAndReplacesWhatWasThere) {
  write_file_atomically(path, "old, and longer than the new", Category::data);
  std::array<std::string_view, 3> parts = {"a", "", "bc"};
  write_file_atomically(path, parts, Category::data);
  EXPECT_EQ(text(), "abc");
  EXPECT_FALSE(std::filesystem::exists(folder / "file.tmp"));
}

TEST_F(AtomicFile, IsThereOnlyOnceItIsCommitted) {
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
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  try {
    write_file_atomically(path, std::string(5000, 'x'), Category::data);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::data);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("file.tmp: File too large"));
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(text(), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "file.tmp"));
}

TEST_F(AtomicFile, AFolderInThePlaceOfTheFileIsAnError) {
  std::filesystem::create_directory(path);
  EXPECT_THROW(write_file_atomically(path, "x", Category::data), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "file.tmp"));
}

}  // namespace
}  // namespace spire
