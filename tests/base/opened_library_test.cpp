// Libraries that are opened when they are used.
#include "engine/base/opened_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using Symbols = OpenedLibrary::Symbols;

TEST(OpenedLibrary, FindsFunctionsByNameOrFile) {
  for (Symbols symbols : {Symbols::hidden, Symbols::global, Symbols::isolated}) {
    OpenedLibrary zlib("libz.so.1", "/nowhere/libz.so.1", symbols);
    EXPECT_TRUE(zlib.find("zlibVersion"));
    EXPECT_FALSE(zlib.find("no_such_function"));
  }
  Dl_info place{};
  ASSERT_TRUE(dladdr(dlsym(RTLD_DEFAULT, "sqrtf"), &place));
  OpenedLibrary by_file("libnothing.so.9", place.dli_fname, Symbols::hidden);
  EXPECT_TRUE(by_file.find("sqrtf"));
  EXPECT_EQ(by_file.variable("environ"), static_cast<void*>(&environ));
}

TEST(OpenedLibrary, SaysWhyThereIsNone) {
  OpenedLibrary none("libnothing.so.9", "/nowhere/libnothing.so.9", Symbols::hidden);
  EXPECT_FALSE(none.find("nothing"));
  EXPECT_THAT(message_of(Category::device, [&] { none.fail_missing(); }),
              testing::AllOf(testing::StartsWith("libnothing.so.9 cannot be used: "),
                             testing::HasSubstr("/nowhere/libnothing.so.9: cannot open"),
                             testing::HasSubstr("install its package")));
  OpenedLibrary zlib("libz.so.1", "libz.so.1", Symbols::hidden);
  EXPECT_THAT(message_of(Category::device, [&] { zlib.fail_missing(); }),
              testing::HasSubstr("it lacks a function"));
}

}  // namespace
}  // namespace spire
