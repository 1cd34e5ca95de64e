// A build without libwebp says so where it meets a WebP file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/images/image_files.h"

namespace spire {
namespace {

TEST(WebP, FilesAreRefusedInABuildWithoutItsLibrary) {
  const Bytes file = {'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'E', 'B', 'P'};
  EXPECT_THAT(message_of(Category::data, [&] { image_size(file); }),
              testing::HasSubstr("build Spire with libwebp"));
}

}  // namespace
}  // namespace spire
