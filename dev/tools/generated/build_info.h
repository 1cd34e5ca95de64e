// What this build is made of, written by CMake.
#pragma once
#include <string_view>

namespace spire::build_info {

inline constexpr std::string_view kVersion = "0.1.0";
inline constexpr std::string_view kBuildType = "Release";
inline constexpr std::string_view kCompiler = "GNU 12.2.0";
inline constexpr std::string_view kArchitecture = "native";
inline constexpr std::string_view kSanitizers = "";
// One line a library: name and version, or why it is not used.
inline constexpr std::string_view kLibraries = R"(Threads  (device and reader threads)
OpenMP 4.5 (threads of CPU kernels)
oneDNN 2.6.3 (CPU kernels)
Eigen 3.4.0 (CPU kernels, references)
HDF5 1.10.8 (checkpoints, datasets)
zlib 1.2.13 (compressed dataset files)
libjpeg 62 (pictures in folders)
libpng 1.6.39 (images)
xxHash 0.8.1 (checksums)
yaml-cpp 0.7.0 (configs)
CLI11 2.1.2 (the command line)
fmt 9.1.0 (messages)
spdlog 1.10.0 (the log)
nlohmann_json 3.11.2 (metrics, summaries)
GoogleTest 1.12.1 (tests)
MPI 3.1 (processes and hosts)
CUDA  not used: SPIRE_CUDA=OFF
nvcc  not used: SPIRE_CUDA=OFF
cuBLAS  not used: SPIRE_CUDA=OFF
cuDNN  not used: SPIRE_CUDA=OFF
NCCL  not used: SPIRE_CUDA=OFF
ccache  (rebuilding)
)";

}  // namespace spire::build_info
