// Tests which GPUs, drivers and libraries a build accepts, and its messages for the others.
#include "engine/device/gpu_requirements.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CudaVersions good_versions() {
  return {.toolkit = {13, 0, 0},
          .driver_cuda = {13, 0, 0},
          .driver = "580.65.06",
          .cudnn = {{9, 19, 0}, {9, 19, 0}},
          .cublas = {{13, 0, 2}, {13, 0, 2}},
          .nccl = {{2, 28, 9}, {2, 28, 9}},
          .cudnn_cuda = {13, 0, 0},
          .nvrtc = {13, 0, 0},
          .architectures = "75-real 80-real 90-real 100-real 120"};
}

LibraryVersion missing(const LibraryVersion& library) {
  return {.built = library.built, .found = {}, .why_not = "no lib.so in /here"};
}

CudaDeviceInfo gpu(int major, int minor, const char* name = "some GPU") {
  return {.index = 1,
          .name = name,
          .uuid = "",
          .pci_bus_id = "",
          .compute_major = major,
          .compute_minor = minor};
}

struct Case {
  const char* name;
  std::function<void(CudaVersions&)> change;
  std::string text;
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};
std::string case_name(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

class VersionProblems : public testing::TestWithParam<Case> {};

TEST_P(VersionProblems, NameWhatIsThereWhatIsNeededAndTheRemedy) {
  CudaVersions versions = good_versions();
  GetParam().change(versions);
  EXPECT_THAT(version_problems(versions), ElementsAre(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Each, VersionProblems,
    testing::Values(
        Case{"OldDriver",
             [](CudaVersions& v) {
               v.driver_cuda = {12, 4, 0}, v.driver = "550.54.15";
             },
             "driver 550.54.15 supports CUDA 12.4, but this build needs CUDA 13.0: "
             "install driver 580 or newer"},
        Case{"OldDriverOfUnknownVersion",
             [](CudaVersions& v) {
               v.driver_cuda = {12, 9, 0}, v.driver = "";
             },
             "driver supports CUDA 12.9, but this build needs CUDA 13.0: install "
             "driver 580 or newer"},
        Case{"DriverForABuildOfTwelve",
             [](CudaVersions& v) {
               v.toolkit = v.cudnn_cuda = {12, 8, 0}, v.driver_cuda = {11, 8, 0},
               v.driver = "520.61";
             },
             "driver 520.61 supports CUDA 11.8, but this build needs CUDA 12.8: "
             "install driver 525 or newer"},
        Case{"NoCudnn", [](CudaVersions& v) { v.cudnn = missing(v.cudnn); },
             "cuDNN was not found: no lib.so in /here; install cuDNN 9.19.0 or newer (pip: "
             "nvidia-cudnn-cu13), or add its folder to LD_LIBRARY_PATH"},
        Case{"NoCublas", [](CudaVersions& v) { v.cublas = missing(v.cublas); },
             "cuBLAS was not found: no lib.so in /here; install cuBLAS 13.0.2 or newer (pip: "
             "nvidia-cublas), or add its folder to LD_LIBRARY_PATH"},
        Case{"NoNccl", [](CudaVersions& v) { v.nccl = missing(v.nccl); },
             "NCCL was not found: no lib.so in /here; install NCCL 2.28.9 or newer (pip: "
             "nvidia-nccl-cu13), or add its folder to LD_LIBRARY_PATH"},
        Case{"OldCudnn",
             [](CudaVersions& v) {
               v.cudnn.found = {8, 9, 7};
             },
             "cuDNN 8.9.7 was found, but this build needs 9: install 9.19.0 or newer "
             "(pip: nvidia-cudnn-cu13)"},
        Case{"CudnnOfAnotherCuda",
             [](CudaVersions& v) {
               v.cudnn_cuda = {12, 9, 0};
             },
             "cuDNN 9.19.0 is built for CUDA 12, but this build uses CUDA 13: install "
             "cuDNN for CUDA 13 (pip: nvidia-cudnn-cu13)"},
        Case{"OldNccl",
             [](CudaVersions& v) {
               v.nccl.found = {2, 18, 1};
             },
             "NCCL 2.18.1 is too old: install 2.19 or newer (pip: nvidia-nccl-cu13)"}),
    case_name);

TEST(VersionProblemsOf, NoneOnAGoodMachine) {
  EXPECT_THAT(version_problems(good_versions()), IsEmpty());
  EXPECT_THAT(version_doubts(good_versions()), IsEmpty());
}

TEST(VersionProblemsOf, NoneForNewerLibrariesAndDrivers) {
  CudaVersions versions = good_versions();
  versions.driver_cuda = {14, 1, 0};
  versions.cudnn.found = {9, 25, 0};
  versions.nccl.found = {2, 40, 0};
  versions.cublas.found = {13, 5, 0};
  EXPECT_THAT(version_problems(versions), IsEmpty());
  EXPECT_THAT(version_doubts(versions), IsEmpty());
}

// Within a major version of CUDA older drivers run newer builds.
TEST(VersionProblemsOf, NoneForADriverOfTheSameMajor) {
  CudaVersions versions = good_versions();
  versions.toolkit = {13, 2, 0};
  EXPECT_EQ(driver_problem(versions), std::nullopt);
}

// Without a GPU no library is opened, so none is missing.
TEST(VersionProblemsOf, NoneForLibrariesThatWereNotLookedFor) {
  CudaVersions versions = good_versions();
  versions.cudnn.found = versions.cublas.found = versions.nccl.found = {};
  EXPECT_THAT(version_problems(versions), IsEmpty());
}

TEST(VersionProblemsOf, AllAreReportedAtOnce) {
  CudaVersions versions = good_versions();
  versions.driver_cuda = {12, 0, 0};
  versions.cudnn = missing(versions.cudnn);
  versions.nccl.found = {2, 10, 0};
  EXPECT_EQ(version_problems(versions).size(), 3u);
}

class VersionDoubts : public testing::TestWithParam<Case> {};

TEST_P(VersionDoubts, AreReportedAndEndNoRun) {
  CudaVersions versions = good_versions();
  GetParam().change(versions);
  EXPECT_THAT(version_problems(versions), IsEmpty());
  EXPECT_THAT(version_doubts(versions), ElementsAre(GetParam().text));
}

INSTANTIATE_TEST_SUITE_P(
    Each, VersionDoubts,
    testing::Values(
        Case{"OlderCudnn",
             [](CudaVersions& v) {
               v.cudnn.found = {9, 5, 1};
             },
             "cuDNN 9.5.1 is older than 9.19.0, which this build was compiled with: if a call "
             "fails, install that version or a newer one"},
        Case{"OlderNccl",
             [](CudaVersions& v) {
               v.nccl.found = {2, 19, 0};
             },
             "NCCL 2.19.0 is older than 2.28.9, which this build was compiled with: if a call "
             "fails, install that version or a newer one"},
        Case{"OlderCublas",
             [](CudaVersions& v) {
               v.cublas.found = {13, 0, 0};
             },
             "cuBLAS 13.0.0 is older than 13.0.2, which this build was compiled with: if a call "
             "fails, install that version or a newer one"},
        Case{"NoNvrtc", [](CudaVersions& v) { v.nvrtc = {}; },
             "libnvrtc.so.13 was not found: cuDNN needs it to compile its fastest engines, and "
             "slower ones are used instead; install NVRTC for CUDA 13 (pip: nvidia-cuda-nvrtc)"}),
    case_name);

TEST(DriverVersion, IsParsedFromTheDriversText) {
  EXPECT_EQ(parse_driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue "
                                 "Mar  5 22:23:56 UTC 2024\nGCC version:  gcc version 12.2.0\n"),
            "550.54.15");
  EXPECT_EQ(parse_driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
                                 "580.65.06  Release Build  (dvs-builder@U22)\n"),
            "580.65.06");
  EXPECT_EQ(parse_driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183 Sun\n"),
            "535.183");
  for (const char* text : {"", "GCC version:  gcc version 12.2.0\n", "Kernel Module\n580.65 x"})
    EXPECT_EQ(parse_driver_version(text), "") << text;
}

TEST(GpuCodeFor, IsThatOfTheSameMajorOrPtxOfAnEarlierOne) {
  const std::string fat = good_versions().architectures;
  for (Version same :
       {Version{7, 5}, {8, 0}, {8, 6}, {8, 7}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {12, 0}, {12, 1}})
    EXPECT_EQ(code_for(fat, same), GpuCode::binary) << to_string(same);
  EXPECT_EQ(code_for(fat, {13, 0}), GpuCode::ptx);
  for (Version other : {Version{7, 0}, {6, 1}, {11, 0}})
    EXPECT_EQ(code_for(fat, other), GpuCode::none) << to_string(other);

  EXPECT_EQ(code_for("90", {9, 0}), GpuCode::binary);
  EXPECT_EQ(code_for("90", {12, 0}), GpuCode::ptx);
  EXPECT_EQ(code_for("90", {8, 9}), GpuCode::none);
  EXPECT_EQ(code_for("86-real", {8, 0}), GpuCode::none);
  EXPECT_EQ(code_for("80-virtual", {8, 0}), GpuCode::ptx);
  EXPECT_EQ(code_for("", {9, 0}), GpuCode::none);
}

TEST(GpuCodeFor, StaysWithinWhatAnArchitectureIsMadeFor) {
  EXPECT_EQ(code_for("90a", {9, 0}), GpuCode::binary);
  EXPECT_EQ(code_for("90a", {10, 0}), GpuCode::none);
  EXPECT_EQ(code_for("100f-real", {10, 3}), GpuCode::binary);
  EXPECT_EQ(code_for("100f", {12, 0}), GpuCode::none);
  EXPECT_EQ(code_for("100f-virtual", {10, 3}), GpuCode::ptx);
}

TEST(CodeProblem, NamesTheGpuTheBuildAndTheLineThatHelps) {
  CudaVersions versions = good_versions();
  versions.architectures = "90";
  EXPECT_EQ(code_problem(versions, gpu(7, 5, "Tesla T4")),
            "cuda:1 (Tesla T4) has compute capability 7.5, but this build has code for 9.0 and "
            "later only: configure with -DSPIRE_CUDA_ARCHITECTURES=75");
  EXPECT_EQ(code_problem(versions, gpu(9, 0)), std::nullopt);
  EXPECT_EQ(code_problem(versions, gpu(12, 0)), std::nullopt);
  versions.architectures = "80-real 90-real";
  EXPECT_THAT(code_problem(versions, gpu(12, 0)).value_or(""),
              HasSubstr("this build has code for 8.0, 9.0 only: configure"));
}

// Older drivers run what is compiled, but do not compile it.
TEST(CodeProblem, IsPtxThatTheDriverCannotCompile) {
  CudaVersions versions = good_versions();
  versions.toolkit = {13, 1, 0};
  EXPECT_EQ(code_problem(versions, gpu(12, 1)), std::nullopt);
  EXPECT_EQ(code_problem(versions, gpu(13, 0)),
            "cuda:1 (some GPU) has compute capability 13.0, for which this build has only PTX, and "
            "a driver that supports CUDA 13.0 cannot compile PTX of CUDA 13.1: update the driver, "
            "or configure with -DSPIRE_CUDA_ARCHITECTURES=130");
}

TEST(DtypeProblem, IsBf16BeforeAmpere) {
  EXPECT_EQ(dtype_problem(DType::bf16, gpu(7, 5, "Tesla T4")),
            "precision: bf16 needs compute capability 8.0, but cuda:1 (Tesla T4) has compute "
            "capability 7.5: use fp16 or fp32");
  EXPECT_EQ(dtype_problem(DType::bf16, gpu(8, 0)), std::nullopt);
  EXPECT_EQ(dtype_problem(DType::f16, gpu(7, 5)), std::nullopt);
  EXPECT_EQ(dtype_problem(DType::f32, gpu(7, 0)), std::nullopt);
}

TEST(ExpectPrecision, RefusesFp16OnTheCpuAndNothingElse) {
  expect_precision({}, DType::f32);
  expect_precision({}, DType::bf16);
  EXPECT_EQ(message_of(Category::device, [] { expect_precision({}, DType::f16); }),
            "precision: fp16 is not supported on CPUs; use bf16 or fp32");
}

}  // namespace
}  // namespace spire
