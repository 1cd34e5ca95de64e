# What spire_cuda_architectures() makes of each choice: CMAKE -DSPIRE_CMAKE=... -DSCRATCH=... -P architectures_test.cmake
# Stand-ins take the place of nvidia-smi and nvcc.
cmake_minimum_required(VERSION 3.25)
include(${SPIRE_CMAKE}/SpireCudaArchitectures.cmake)

function(pretend program text)
  file(WRITE ${SCRATCH}/${program} "#!/bin/sh\n${text}\n")
  file(CHMOD ${SCRATCH}/${program} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

function(expect wanted chosen)
  spire_cuda_architectures(result "${wanted}" ${SCRATCH}/nvcc)
  if(NOT result STREQUAL chosen)
    message(FATAL_ERROR "${wanted}: '${result}', expected '${chosen}'")
  endif()
endfunction()

# Of a script that stops.
function(expect_failure wanted words)
  file(WRITE ${SCRATCH}/stops.cmake
    "cmake_minimum_required(VERSION 3.25)\ninclude(${SPIRE_CMAKE}/SpireCudaArchitectures.cmake)\nspire_cuda_architectures(result ${wanted} ${SCRATCH}/nvcc)\n")
  execute_process(COMMAND ${CMAKE_COMMAND} -P ${SCRATCH}/stops.cmake RESULT_VARIABLE code ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  string(FIND "${text}" "${words}" at)
  if(code EQUAL 0 OR at EQUAL -1)
    message(FATAL_ERROR "${wanted}: ended with ${code}; '${words}' is missing in: ${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
set(ENV{PATH} "${SCRATCH}:/usr/bin:/bin")
pretend(nvcc "echo compute_75; echo compute_80; echo compute_86; echo compute_89; echo compute_90; echo compute_100; echo compute_120")
set(fat "75-real;80-real;90-real;100-real;120")

# Machines without a GPU, a driver or nvidia-smi.
foreach(text "exit 9" "echo NVIDIA-SMI has failed because it could not talk to the driver 1.2" "echo No devices were found; exit 6")
  pretend(nvidia-smi "${text}")
  expect(auto 90)
  expect(fat "${fat}")
  expect_failure(native "SPIRE_CUDA_ARCHITECTURES=native, but nvidia-smi shows no GPU here.")
endforeach()

# Machines with some: each kind once, in order.
pretend(nvidia-smi "echo 9.0; echo 9.0")
expect(auto 90)
expect(native 90)
expect(fat "${fat}")
expect(80 80)
expect("80-real;90" "80-real;90")
pretend(nvidia-smi "echo 12.0; echo 7.5; echo 12.0; echo 8.6")
expect(native "75;86;120")

# A GPU that the compiler knows nothing of, beside another and alone.
pretend(nvidia-smi "echo 6.1; echo 8.6")
expect(auto 86)
expect_failure(native "does not compile for this machine's GPU (61)")
pretend(nvidia-smi "echo 6.1")
expect(auto 90)
expect_failure(native "does not compile for this machine's GPU (61)")

# Older compilers know fewer, and Volta.
pretend(nvcc "echo compute_60; echo compute_70; echo compute_75; echo compute_80; echo compute_86; echo compute_89; echo compute_90")
expect(fat "70-real;75-real;80-real;90")
file(REMOVE_RECURSE ${SCRATCH})
