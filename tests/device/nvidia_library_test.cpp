// Tests the opening of NVIDIA's libraries with a library in their place, which lies where a wheel
// beside this program would have it: nvidia/fake/lib.
#include "engine/device/nvidia_library.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/base/message_of.h"
#include "tests/base/set_variable.h"
#include "tests/device/system_files.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

NvidiaLibrary library(const std::string& file) {
  return NvidiaLibrary({.name = "cuFake", .file = file, .wheel = "nvidia-fake-cu13", .cuda = 13});
}

std::string error_of(const NvidiaLibrary& library, const char* function) {
  return message_if_any(Category::device, [&] { library.need(function); });
}

TEST(NvidiaLibrary, IsFoundInTheWheelsBesideTheProgram) {
  NvidiaLibrary fake = library(SPIRE_FAKE_FILE);
  EXPECT_EQ(fake.why_not(), "");
  int (*version)() = fake.need("fake_version");
  EXPECT_EQ(version(), 42);
  EXPECT_EQ(fake.find<int()>("fake_version"), version);
}

TEST(NvidiaLibrary, TooOldOneLacksAFunction) {
  NvidiaLibrary fake = library(SPIRE_FAKE_FILE);
  EXPECT_EQ(fake.find<int()>("fake_new"), nullptr);
  EXPECT_EQ(error_of(fake, "fake_new"),
            "cuFake has no fake_new: it is too old; install a newer one (pip: nvidia-fake-cu13)");
}

TEST(NvidiaLibrary, MissingOneSaysWhereItWasLookedForAndTheRemedy) {
  SetVariable home("CUDA_HOME", "/opt/my cuda");
  NvidiaLibrary none = library("libspire_none.so.9");
  EXPECT_EQ(none.find<int()>("fake_version"), nullptr);
  EXPECT_THAT(
      error_of(none, "fake_version"),
      AllOf(StartsWith("cuFake was not found: no libspire_none.so.9 in "),
            HasSubstr("/nvidia/*/lib, the folders of the system's loader, /opt/my cuda/{lib64,"),
            HasSubstr("/usr/local/cuda-13*/"),
            HasSubstr("; install it (pip: nvidia-fake-cu13), or add its folder to")));
}

TEST(NvidiaLibrary, OnlyChosenFoldersAreLookedInIfThereAreSome) {
  SystemFiles folder;
  fs::copy_file(fs::path(SPIRE_FAKE_FOLDER) / SPIRE_FAKE_FILE,
                folder.root() / "libspire_copy.so.9");
  SetVariable chosen("SPIRE_CUDA_FOLDERS", "/nowhere:/no[where]");
  EXPECT_EQ(library("libspire_copy.so.9").why_not(),
            "no libspire_copy.so.9 in /nowhere, /no\\[where\\]");
  SetVariable found("SPIRE_CUDA_FOLDERS", "/nowhere:" + folder.root().string());
  EXPECT_EQ(library("libspire_copy.so.9").why_not(), "");
}

TEST(NvidiaLibrary, BrokenOneIsReportedInTheLoadersWords) {
  SystemFiles folder;
  folder.file("lib{1}/libspire_broken.so.9", "no library");
  SetVariable chosen("SPIRE_CUDA_FOLDERS", (folder.root() / "lib{1}").string());
  EXPECT_THAT(error_of(library("libspire_broken.so.9"), "fake_version"),
              HasSubstr("libspire_broken.so.9: file too short; install it"));
}

TEST(NvidiaFolders, AreOwnWheelsThenTheLoadersThenCudasThenPythons) {
  SystemFiles python;
  python.file("bin/python3", "");
  SetVariable path("PATH", "/nowhere:" + (python.root() / "bin").string() + ":/usr/bin");
  SetVariable home("CUDA_HOME", ""), cuda_path("CUDA_PATH", "");
  EXPECT_THAT(nvidia_folders("/site/spire/lib/libspire.so", 12),
              ElementsAre("/site/spire/lib/nvidia/*/lib", "/site/spire/nvidia/*/lib",
                          "/site/nvidia/*/lib", "", HasSubstr("/usr/local/cuda/{lib64,"),
                          HasSubstr("/usr/local/cuda-12*/"), HasSubstr("/opt/cuda/"),
                          python.root().string() +
                              "/{,local/}lib/python3*/{site,dist}-packages/nvidia/*/lib"));
}

}  // namespace
}  // namespace spire
