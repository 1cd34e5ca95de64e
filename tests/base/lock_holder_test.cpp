#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/base/proc_files.h"
#include "tests/base/folder.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

class FileLocks : public testing::Test {
 protected:
  void SetUp() override { make(fs::temp_directory_path()); }
  void TearDown() override { ::close(descriptor_); }
  void make(const fs::path& parent) {
    folder_.emplace(parent);
    descriptor_ = ::open((*folder_ / "lock").c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(descriptor_, 0);
  }
  int open_again() const { return ::open((*folder_ / "lock").c_str(), O_RDONLY | O_CLOEXEC); }
  ino_t inode() const {
    struct stat status = {};
    ::fstat(descriptor_, &status);
    return status.st_ino;
  }

  std::optional<Folder> folder_;
  int descriptor_ = -1;
};

TEST_F(FileLocks, TheHolderIsFoundOnTheFileSystemsThatAreHere) {
  for (const char* parent : {"/dev/shm", "/var/tmp", "."}) {
    if (::access(parent, W_OK) != 0) continue;
    SCOPED_TRACE(parent);
    TearDown();
    make(parent);
    EXPECT_EQ(flock_holder(descriptor_), std::nullopt);
    int other = open_again();
    ASSERT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
    EXPECT_EQ(flock_holder(descriptor_), ::getpid());
    ::close(other);
    EXPECT_EQ(flock_holder(descriptor_), std::nullopt);
  }
}

// As on btrfs, where stat() tells another device than the list of locks: the mount's counts.
TEST_F(FileLocks, TheDeviceIsThatOfTheMount) {
  folder_->write(fmt::format("proc/self/fdinfo/{}", descriptor_),
                 "pos:\t0\nflags:\t0100000\nmnt_id:\t77\n");
  folder_->write(
      "proc/self/mountinfo",
      "24 1 259:2 / / rw - ext4 /dev/x rw\n77 24 0:46 /sub /data rw - btrfs /dev/y rw\n");
  folder_->write("proc/locks", fmt::format("1: FLOCK  ADVISORY  WRITE 31 103:02:{0} 0 EOF\n"
                                           "2: POSIX  ADVISORY  WRITE 32 00:2e:{0} 0 EOF\n"
                                           "3: FLOCK  ADVISORY  WRITE 33 00:2e:{0} 0 EOF\n"
                                           "3: -> FLOCK  ADVISORY  WRITE 34 00:2e:{0} 0 EOF\n",
                                           inode()));
  EXPECT_EQ(flock_holder(descriptor_, *folder_ / "proc"), 33);
  folder_->write("proc/locks",
                 fmt::format("1: FLOCK  ADVISORY  WRITE 33 00:2e:{} 0 EOF\n", inode() + 1));
  EXPECT_EQ(flock_holder(descriptor_, *folder_ / "proc"), std::nullopt);
  EXPECT_EQ(flock_holder(descriptor_, *folder_ / "nothing"), std::nullopt);
}

}  // namespace
}  // namespace spire
