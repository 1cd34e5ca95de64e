# What a person may choose, and the flags every target of the project gets.
option(SPIRE_BUILD_TESTS "build the tests" ON)
option(SPIRE_FUZZ "build the fuzz targets and nothing else; needs clang (preset fuzz)" OFF)
option(SPIRE_UNITY "compile several sources of a folder at a time; OFF: each alone, as clang-tidy and preset debug need it" ON)
option(SPIRE_WERROR "treat warnings as errors" ON)
set(SPIRE_ARCH "native" CACHE STRING "instruction set of the CPU kernels (-march=...): native, x86-64-v3, x86-64-v4, ...")
set(SPIRE_SANITIZE "" CACHE STRING "sanitizers for every target: address,undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
include(GNUInstallDirs)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "build type" FORCE)
endif()

# Flags of every target. The floors that compute set -march themselves; GCC contracts a * b + c there, as it does by default.
add_library(spire_flags INTERFACE)
target_compile_options(spire_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow$<$<BOOL:${SPIRE_UNITY}>:=local> -Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${SPIRE_WERROR}>>:-Werror>
  # Vectors wider than the processor's registers are passed between inlined functions only, so their ABI does not matter.
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-psabi>
  # constexpr functions of the standard library (bit_cast, array) run on the device as they are.
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wshadow$<$<BOOL:${SPIRE_UNITY}>:=local>>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${SPIRE_WERROR}>>:-Werror=all-warnings$<SEMICOLON>-Xcompiler=-Werror>
  # Where kernels are compiled for what CI compiles for, none of them may use local memory; of other GPUs tests/kernels/local_memory.sh tells.
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${SPIRE_WERROR}>,$<STREQUAL:$<JOIN:$<TARGET_PROPERTY:CUDA_ARCHITECTURES>,+>,90>>:-Xptxas=--warn-on-local-memory-usage>)
if(SPIRE_SANITIZE)
  # What GCC 12 says about the flow of instrumented code is not true; the other presets say it of the real code.
  target_compile_options(spire_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-restrict>)
  # -O1 with line numbers alone compiles instrumented code in half the time of -O2 -g.
  add_compile_options(-fsanitize=${SPIRE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=${SPIRE_SANITIZE})
endif()
if(SPIRE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "SPIRE_FUZZ=ON needs clang's libFuzzer; cmake --preset fuzz sets the compiler.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)  # counts branches; the targets alone link libFuzzer
endif()
