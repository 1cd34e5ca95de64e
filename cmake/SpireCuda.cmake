# CUDA: toolkit, nvcc, cuBLAS, cuDNN and NCCL are used together or not at all. Sets SPIRE_USE_CUDA.
# The runtime is linked statically and the driver is never linked, so that a build with CUDA starts on a machine
# that has no driver.
include(CheckLanguage)
include(SpireCudaArchitectures)
set(SPIRE_CUDA_ARCHITECTURES auto CACHE STRING "GPU architectures to compile for: auto (this machine's GPUs, without any 90), native, fat, or a list: 90, \"80;90\"")

spire_dependency(CUDA OPTION SPIRE_CUDA FIND CUDAToolkit 12.0 TARGET CUDA::cudart_static FOR "GPU devices")
if(SPIRE_HAS_CUDA AND NOT CMAKE_CUDA_COMPILER)
  if(NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  check_language(CUDA)
endif()
spire_dependency(nvcc OPTION SPIRE_CUDA NEEDS CUDA CHECKED CMAKE_CUDA_COMPILER FOR "GPU kernels")
spire_dependency(cuBLAS OPTION SPIRE_CUDA NEEDS CUDA FIND CUDAToolkit TARGET CUDA::cublasLt FOR "GPU matrix products")
spire_dependency(cuDNN OPTION SPIRE_CUDA NEEDS CUDA FIND CuDNN 9 TARGET CuDNN::cudnn BUILD_ONLY FOR "GPU convolutions")
spire_dependency(NCCL OPTION SPIRE_CUDA NEEDS CUDA FIND NCCL 2.19 TARGET NCCL::nccl BUILD_ONLY FOR "reductions between GPUs")
spire_all_or_none(SPIRE_USE_CUDA CUDA nvcc cuBLAS cuDNN NCCL)

if(SPIRE_USE_CUDA)
  spire_cuda_architectures(CMAKE_CUDA_ARCHITECTURES "${SPIRE_CUDA_ARCHITECTURES}" ${CMAKE_CUDA_COMPILER})
  message(STATUS "GPU code: ${CMAKE_CUDA_ARCHITECTURES} (SPIRE_CUDA_ARCHITECTURES=${SPIRE_CUDA_ARCHITECTURES})")
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  # nvcc speaks C++20 since CUDA 12; CMake 3.25 does not know the flag.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_EXTENSIONS OFF)
endif()
