# What the project stands on. third_party/README.md says why each one; install-deps.sh installs them.
include(SpireDependency)

spire_dependency(Threads FIND Threads TARGET Threads::Threads PACKAGE libc6-dev FOR "device and reader threads")
if(NOT SPIRE_FUZZ)  # whose floors compute nothing
  spire_dependency(OpenMP FIND OpenMP COMPONENTS CXX TARGET OpenMP::OpenMP_CXX PACKAGE g++ FOR "threads of CPU kernels")
  spire_dependency(oneDNN FIND OneDNN 2.6 TARGET OneDNN::OneDNN PACKAGE libdnnl-dev FOR "CPU kernels")
  spire_dependency(Eigen FIND Eigen3 3.4 NO_MODULE TARGET Eigen3::Eigen PACKAGE libeigen3-dev FOR "CPU kernels, references")
endif()
spire_dependency(HDF5 FIND HDF5 COMPONENTS C TARGET hdf5::hdf5 PACKAGE libhdf5-dev FOR "checkpoints, datasets")
spire_dependency(zlib FIND ZLIB TARGET ZLIB::ZLIB PACKAGE zlib1g-dev FOR "compressed dataset files")
spire_dependency(libjpeg FIND JPEG TARGET JPEG::JPEG PACKAGE libjpeg-dev FOR "images in folders")
spire_dependency(libpng FIND PNG TARGET PNG::PNG PACKAGE libpng-dev FOR "images")
spire_dependency(PCRE2 FIND PCRE2 10.30 TARGET PCRE2::8BIT PACKAGE libpcre2-dev FOR "GPT-2's pieces of a text")
spire_dependency(utf8proc FIND utf8proc 2.0 TARGET utf8proc::utf8proc PACKAGE libutf8proc-dev FOR "UTF-8")
spire_dependency(xxHash FIND xxHash TARGET xxHash::xxhash PACKAGE libxxhash-dev FOR "checksums")
spire_dependency(libsodium FIND Sodium 1.0.12 TARGET Sodium::sodium PACKAGE libsodium-dev FOR "processes that know each other, chains of steps")
spire_dependency(yaml-cpp FIND yaml-cpp PACKAGE libyaml-cpp-dev FOR "configs")
spire_dependency(CLI11 FIND CLI11 TARGET CLI11::CLI11 PACKAGE libcli11-dev FOR "the command line")
spire_dependency(fmt FIND fmt TARGET fmt::fmt PACKAGE libfmt-dev FOR "messages")
spire_dependency(nlohmann_json FIND nlohmann_json TARGET nlohmann_json::nlohmann_json PACKAGE nlohmann-json3-dev
  FOR "metrics, summaries")
spire_dependency(minizip FIND Minizip TARGET Minizip::minizip PACKAGE libminizip-dev FOR "weights as .npz")
if(NOT SPIRE_FUZZ)
  spire_dependency(libmicrohttpd FIND Microhttpd 0.9.75 TARGET Microhttpd::microhttpd PACKAGE libmicrohttpd-dev
    FOR "the live page, answers to Prometheus")
  spire_dependency(prometheus-cpp FIND PrometheusCpp TARGET PrometheusCpp::core PACKAGE prometheus-cpp-dev
    FOR "metrics for Prometheus")
  spire_dependency(protozero FIND Protozero 1.7 TARGET Protozero::protozero PACKAGE libprotozero-dev
    FOR "TensorBoard's files")
endif()
if(SPIRE_BUILD_TESTS)
  spire_dependency(GoogleTest FIND GTest TARGET GTest::gmock PACKAGE libgmock-dev BUILD_ONLY FOR "tests")
endif()
spire_check_required()

spire_dependency(libwebp OPTION SPIRE_WEBP FIND WebP TARGET WebP::webp PACKAGE libwebp-dev FOR "WebP images")
spire_dependency(libtiff OPTION SPIRE_TIFF FIND TIFF 4.5 TARGET TIFF::TIFF PACKAGE libtiff-dev FOR "TIFF images")
spire_dependency(Arrow OPTION SPIRE_ARROW FIND ArrowParquet 21 TARGET ArrowParquet::ArrowParquet
  FOR "Parquet and Arrow files")
spire_dependency(MPI OPTION SPIRE_MPI FIND MPI 3.0 COMPONENTS C TARGET MPI::MPI_C PACKAGE libopenmpi-dev
  FOR "processes and hosts")
include(SpireCuda)
include(SpirePython)

spire_dependency(doxygen OPTION SPIRE_REFERENCE PROGRAM doxygen BUILD_ONLY FOR "the target reference")
spire_dependency(ccache OPTION SPIRE_CCACHE PROGRAM ccache PACKAGE ccache FOR "rebuilding")
if(SPIRE_HAS_ccache)
  foreach(language CXX CUDA)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      # As ccache demands for precompiled headers, which the tests use.
      set(CMAKE_${language}_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${SPIRE_PROGRAM_ccache})
    endif()
  endforeach()
endif()
