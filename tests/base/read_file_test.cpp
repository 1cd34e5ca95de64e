#include "engine/base/read_file.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "engine/base/write_file.h"
#include "tests/base/folder.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

class ReadFile : public testing::Test {
 protected:
  Folder folder;
};

TEST_F(ReadFile, ReadsAWholeFileAndNoticesAMissingOne) {
  std::string text(200 << 10, 'x');
  std::ofstream(folder / "large") << text;
  std::ofstream(folder / "empty");
  EXPECT_EQ(read_file_if_there(folder / "large", Category::data), text);
  EXPECT_EQ(read_stream(folder / "large", Category::data), text);
  EXPECT_EQ(read_file_if_there(folder / "empty", Category::data), "");
  EXPECT_EQ(read_file_if_there(folder / "none", Category::data), std::nullopt);
  EXPECT_THAT(message_of(Category::data, [&] { read_stream(folder / "none", Category::data); }),
              HasSubstr("none: cannot be read: No such file"));
}

// Tries to read and to replace each kind of file. No call waits for the other end of a FIFO.
TEST_F(ReadFile, OnlyRegularFilesAreOpened) {
  std::ofstream(folder / "file") << "123456";
  std::filesystem::create_symlink("file", folder / "link");
  std::filesystem::create_symlink("none", folder / "dangling");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("pipe", folder / "link_to_pipe");
  std::filesystem::create_directory(folder / "folder");
  struct Case {
    std::filesystem::path path;
    std::string read, replaced;  // a part of the message; empty: it works
  };
  for (const Case& test : {Case{folder / "file", "", ""}, Case{folder / "link", "", "is a link"},
                           Case{folder / "none", "No such file", ""},
                           Case{folder / "dangling", "No such file", "is a link"},
                           Case{folder / "pipe", "is a FIFO", "is a FIFO"},
                           Case{folder / "link_to_pipe", "is a FIFO", "is a link"},
                           Case{folder / "folder", "is a folder", "is a folder"},
                           Case{"/dev/zero", "is a device", "is a device"}}) {
    auto read = message_if_any(Category::data, [&] { RegularFile(test.path, Category::data); });
    auto replaced =
        message_if_any(Category::config, [&] { require_replaceable(test.path, Category::config); });
    EXPECT_EQ(read.empty(), test.read.empty()) << test.path;
    EXPECT_EQ(replaced.empty(), test.replaced.empty()) << test.path;
    EXPECT_THAT(read, HasSubstr(test.read));
    EXPECT_THAT(replaced, HasSubstr(test.replaced));
    if (test.replaced.empty()) continue;
    EXPECT_THROW(open_in_place(test.path, Category::config), Error) << test.path;
  }
}

TEST_F(ReadFile, ReadsAtOffsetsAndNoticesAChangedName) {
  std::ofstream(folder / "file") << "0123456789";
  RegularFile file(folder / "file", Category::data);
  EXPECT_EQ(file.bytes(), 10u);
  std::string text(4, ' ');
  EXPECT_EQ(file.read_at(8, std::as_writable_bytes(std::span(text))), 2u);
  EXPECT_EQ(text, "89  ");
  EXPECT_EQ(file.read(std::as_writable_bytes(std::span(text))), 4u);
  EXPECT_EQ(text, "0123");
  EXPECT_TRUE(is_named(file.descriptor(), folder / "file"));
  std::filesystem::rename(folder / "file", folder / "moved");
  EXPECT_FALSE(is_named(file.descriptor(), folder / "file"));
  std::ofstream(folder / "file") << "another";
  EXPECT_FALSE(is_named(file.descriptor(), folder / "file"));
}

TEST_F(ReadFile, AFileThatExistsButCannotBeReadIsAnError) {
  std::ofstream(folder / "file") << "123456";
  auto refused = [&](const std::filesystem::path& path, size_t most = 1 << 20) {
    return message_of(Category::checkpoint,
                      [&] { read_file_if_there(path, Category::checkpoint, most); });
  };
  EXPECT_THAT(refused(folder / "file" / "below"),
              HasSubstr("below: cannot be read: Not a directory"));
  EXPECT_EQ(read_stream(folder / "file", Category::checkpoint, 6), "123456");
  EXPECT_THAT(refused(folder / "file", 5), HasSubstr("file: is larger than 5 bytes"));
  EXPECT_THAT(refused(folder), HasSubstr("is a folder, not a regular file"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refused(folder / "pipe"), HasSubstr("pipe: is a FIFO, not a regular file"));
}

TEST_F(ReadFile, ListsAFolderOrSaysWhyNot) {
  std::ofstream(folder / "a");
  std::filesystem::create_directory(folder / "b");
  EXPECT_THAT(list_folder(folder, Category::data), testing::UnorderedElementsAre("a", "b"));
  EXPECT_THAT(list_folder(folder / "none", Category::data), testing::IsEmpty());
  EXPECT_THAT(message_of(Category::data, [&] { list_folder(folder / "a", Category::data); }),
              HasSubstr("a: cannot be listed: Not a directory"));
}

}  // namespace
}  // namespace spire
