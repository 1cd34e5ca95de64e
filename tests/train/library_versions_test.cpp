#include "engine/train/library_versions.h"

#include <gtest/gtest.h>

namespace spire {
namespace {

TEST(LibraryVersions, NoneDecidesWhatACpuComputes) {
  EXPECT_TRUE(library_versions(DeviceKind::cpu).empty());
}

TEST(LibraryVersions, ThoseThatChangedAreNamed) {
  LibraryVersions now{{"cuBLASLt", "13.1.0"}, {"cuDNN", "9.19.0"}};
  EXPECT_EQ(changed_versions({{"cuBLASLt", "13.0.2"}, {"cuDNN", "9.19.0"}}, now),
            "cuBLASLt is 13.1.0, was 13.0.2");
  EXPECT_EQ(changed_versions({{"cuBLASLt", "13.0.2"}, {"cuDNN", "9.10.1"}}, now),
            "cuBLASLt is 13.1.0, was 13.0.2; cuDNN is 9.19.0, was 9.10.1");
}

TEST(LibraryVersions, WhatOneOfTheRunsDoesNotNameIsNoChange) {
  LibraryVersions gpu{{"cuBLASLt", "13.1.0"}, {"cuDNN", "9.19.0"}};
  EXPECT_EQ(changed_versions(gpu, gpu), "");
  EXPECT_EQ(changed_versions({}, gpu), "");
  EXPECT_EQ(changed_versions(gpu, {}), "");
}

}  // namespace
}  // namespace spire
