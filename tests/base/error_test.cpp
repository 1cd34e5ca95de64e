#include <system_error>

#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

TEST(Error, CarriesCategoryAndExitCode) {
  EXPECT_EQ(message_of(Category::data, [] { fail(Category::data, "{}: truncated", "train.idx"); }),
            "train.idx: truncated");
  EXPECT_EQ(Error(Category::data, "").exit_code(), 4);
  EXPECT_EQ(to_string(Category::data), "data");
  EXPECT_EQ(to_string(Category::interrupted), "interrupted");
}

// A path or a name can neither begin a line of its own nor steer a terminal; what() of an inner
// error and the format's own newlines stay.
TEST(Error, EscapesControlCharactersOfStrings) {
  std::string path = "a\n\x1b[31mb";
  auto throws = [&] {
    fail(Category::data, "{}: {:>3} of {}\n{}", path, 7, std::string_view("c\td"), "x\ny");
  };
  EXPECT_EQ(message_of(Category::data, throws), "a\\x0a\\x1b[31mb:   7 of c\\x09d\nx\ny");
  EXPECT_STREQ(classify(std::runtime_error(path)).what(), "a\\x0a\\x1b[31mb");
}

TEST(Hash, DependsOnEveryByte) {
  std::string text(100, 'a');
  uint64_t before = hash64(text.data(), text.size());
  text[57] = 'b';
  EXPECT_NE(before, hash64(text.data(), text.size()));
  EXPECT_EQ(hex(255), "00000000000000ff");
}

TEST(Error, ClassifiesAnyException) {
  Error data(Category::data, "row 3");
  EXPECT_EQ(classify(data).category(), Category::data);
  EXPECT_STREQ(classify(data).what(), "row 3");
  EXPECT_EQ(classify(std::bad_alloc()).category(), Category::out_of_memory);
  std::system_error refused(std::make_error_code(std::errc::permission_denied));
  EXPECT_EQ(classify(refused).category(), Category::device);
  EXPECT_EQ(classify(std::runtime_error("why")).category(), Category::unexpected);
  EXPECT_STREQ(classify(std::runtime_error("why")).what(), "why");
}

}  // namespace
}  // namespace spire
