# spire_cuda_architectures(<result> <wanted> <nvcc>)
#   The architectures to compile for, as CMAKE_CUDA_ARCHITECTURES takes them. <wanted> is one of
#     auto     the GPUs in this machine; where it has none: 90
#     native   the GPUs in this machine; stops where it has none
#     fat      every generation since Turing, and Volta where nvcc still knows it
#     a list   90, "80;90", "90-real", ...: as it is
#   "90-real" is code for 9.0; "90" is that and PTX, which the driver compiles for later GPUs.

# The architectures that a compiler knows: 75;80;...
function(_spire_known_architectures result nvcc)
  execute_process(COMMAND ${nvcc} --list-gpu-arch OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCHALL "compute_[0-9]+" names "${text}")
  list(TRANSFORM names REPLACE "compute_" "")
  set(${result} ${names} PARENT_SCOPE)
endfunction()

# Those of the GPUs that the driver shows: 90, or 75;86. Empty without a GPU or a driver.
function(_spire_present_architectures result)
  find_program(SPIRE_NVIDIA_SMI nvidia-smi NO_CACHE)
  set(found "")
  if(SPIRE_NVIDIA_SMI)
    execute_process(COMMAND ${SPIRE_NVIDIA_SMI} --query-gpu=compute_cap --format=csv,noheader TIMEOUT 60
      OUTPUT_VARIABLE text ERROR_QUIET)
    string(REGEX MATCHALL "(^|\n)[0-9]+[.][0-9]" found "${text}")
    list(TRANSFORM found REPLACE "[\n.]" "")
    list(REMOVE_DUPLICATES found)
    list(SORT found COMPARE NATURAL)
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Code for each, and PTX of the last. Code runs on all GPUs of the same major number and no lower minor one: 80 is that
# of 8.6 and 8.9, too.
function(_spire_fat_architectures result known)
  set(chosen "")
  foreach(architecture 70 75 80 90 100 120)
    if(architecture IN_LIST known)
      list(APPEND chosen ${architecture})
    endif()
  endforeach()
  list(POP_BACK chosen last)
  list(TRANSFORM chosen APPEND "-real")
  set(${result} ${chosen} ${last} PARENT_SCOPE)
endfunction()

function(spire_cuda_architectures result wanted nvcc)
  if(NOT wanted MATCHES "^(auto|native|fat)$")
    set(${result} "${wanted}" PARENT_SCOPE)
    return()
  endif()
  _spire_known_architectures(known ${nvcc})
  set(present "")
  if(NOT wanted STREQUAL "fat")
    _spire_present_architectures(present)
  endif()
  set(strangers ${present})
  list(REMOVE_ITEM strangers ${known})
  list(REMOVE_ITEM present ${strangers})
  if(wanted STREQUAL "native" AND NOT present AND NOT strangers)
    message(FATAL_ERROR "SPIRE_CUDA_ARCHITECTURES=native, but nvidia-smi shows no GPU here. "
      "Name what to compile for, 90 for instance, or configure with -DSPIRE_CUDA_ARCHITECTURES=fat.")
  elseif(wanted STREQUAL "native" AND strangers)
    message(FATAL_ERROR "SPIRE_CUDA_ARCHITECTURES=native, but ${nvcc} does not compile for this machine's GPU (${strangers}). "
      "It knows ${known}: take another CUDA toolkit, or name some of these.")
  elseif(present)
    set(${result} ${present} PARENT_SCOPE)
  elseif(wanted STREQUAL "fat")
    _spire_fat_architectures(chosen "${known}")
    set(${result} ${chosen} PARENT_SCOPE)
  else()
    set(${result} 90 PARENT_SCOPE)
  endif()
endfunction()
