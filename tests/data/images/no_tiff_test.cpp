// A build without libtiff says so where it meets a TIFF file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/images/image_files.h"

namespace spire {
namespace {

TEST(TIFF, FilesAreRefusedInABuildWithoutItsLibrary) {
  const Bytes file = {'I', 'I', 42, 0, 8, 0, 0, 0};
  EXPECT_THAT(message_of(Category::data, [&] { image_size(file); }),
              testing::HasSubstr("build Spire with libtiff"));
}

}  // namespace
}  // namespace spire
