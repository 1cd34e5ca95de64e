# spire_bundled(<programs> ...)   these go into the bundle
# spire_bundle_target()           the target `bundle`: a tar of these programs that runs on other machines
#
# Its libraries lie beside the programs, in ../lib, and find each other there too: that needs DT_RPATH, as DT_RUNPATH holds for
# the program's own needs alone. C's library comes from the target machine, as do the GPU's: cuDNN, NCCL and cuBLAS.
function(spire_bundled)
  foreach(program ${ARGN})
    target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
    set_property(TARGET ${program} APPEND PROPERTY BUILD_RPATH "$ORIGIN/../lib")  # room for what the bundle writes there
    set_property(GLOBAL APPEND PROPERTY SPIRE_BUNDLED ${program})
  endforeach()
endfunction()

function(spire_bundle_target)
  get_property(programs GLOBAL PROPERTY SPIRE_BUNDLED)
  set(files "")
  foreach(program ${programs})
    list(APPEND files $<TARGET_FILE:${program}>)
  endforeach()
  set(cuda_major "")
  if(SPIRE_USE_CUDA)
    set(cuda_major ${CUDAToolkit_VERSION_MAJOR})
  endif()
  set(name spire-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
  configure_file(cmake/bundle/settings.cmake.in bundle_settings.cmake @ONLY)
  add_custom_target(bundle DEPENDS ${programs} VERBATIM COMMENT "Making bundle/${name}.tar.gz"
    COMMAND ${CMAKE_COMMAND} -DSETTINGS=${PROJECT_BINARY_DIR}/bundle_settings.cmake "-DPROGRAMS=${files}"
      -P ${PROJECT_SOURCE_DIR}/cmake/bundle/make.cmake)
endfunction()
