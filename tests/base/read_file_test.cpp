#include <gmock/gmock.h>
#include <spire/base/read_file.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

class ReadFile : public testing::Test {
 protected:
  ReadFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "spire_read_XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~ReadFile() override { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};

TEST_F(ReadFile, AFileWholeAndOneThatIsNotThere) {
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

TEST_F(ReadFile, WhatIsThereAndCannotBeReadIsAnError) {
  std::ofstream(folder / "file") << "123456";
  auto refused = [&](const std::filesystem::path& path, size_t most = 1 << 20) {
    return message_of(Category::checkpoint,
                      [&] { read_file_if_there(path, Category::checkpoint, most); });
  };
  EXPECT_THAT(refused(folder / "file" / "below"),
              HasSubstr("below: cannot be read: Not a directory"));
  EXPECT_THAT(refused(folder / "file", 5), HasSubstr("file: larger than 5 bytes"));
  EXPECT_THAT(refused(folder), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(refused(folder / "pipe"), HasSubstr("pipe: is not a regular file"));
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
