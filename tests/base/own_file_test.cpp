#include "engine/base/own_file.h"

#include <gtest/gtest.h>

namespace spire {
namespace {

TEST(OwnFile, IsTheProgramThatHasTheCode) {
  EXPECT_EQ(own_file(), std::filesystem::read_symlink("/proc/self/exe"));
}

}  // namespace
}  // namespace spire
