# find_package(Spire) gives Spire::spire, all of the engine, and its floors: Spire::base, Spire::graph, ...

####### Expanded from @PACKAGE_INIT@ by configure_package_config_file() #######
####### Any changes to this file will be overwritten by the next CMake run ####
####### The input file was SpireConfig.cmake.in                            ########

get_filename_component(PACKAGE_PREFIX_DIR "${CMAKE_CURRENT_LIST_DIR}/../../../" ABSOLUTE)

macro(set_and_check _var _file)
  set(${_var} "${_file}")
  if(NOT EXISTS "${_file}")
    message(FATAL_ERROR "File or directory ${_file} referenced by variable ${_var} does not exist !")
  endif()
endmacro()

macro(check_required_components _NAME)
  foreach(comp ${${_NAME}_FIND_COMPONENTS})
    if(NOT ${_NAME}_${comp}_FOUND)
      if(${_NAME}_FIND_REQUIRED_${comp})
        set(${_NAME}_FOUND FALSE)
      endif()
    endif()
  endforeach()
endmacro()

####################################################################################
include(CMakeFindDependencyMacro)
enable_language(C)  # FindHDF5 compiles a C file
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})
find_dependency(Threads)
find_dependency(OpenMP COMPONENTS CXX)
find_dependency(OneDNN 2.6)
find_dependency(Eigen3 3.4 NO_MODULE)
find_dependency(HDF5 COMPONENTS C)
find_dependency(ZLIB)
find_dependency(JPEG)
find_dependency(PNG)
find_dependency(xxHash)
find_dependency(yaml-cpp)
find_dependency(CLI11)
find_dependency(fmt)
find_dependency(spdlog)
find_dependency(nlohmann_json)
find_dependency(MPI 3.0 COMPONENTS C)
list(REMOVE_AT CMAKE_MODULE_PATH 0)
include(${CMAKE_CURRENT_LIST_DIR}/SpireTargets.cmake)
