# spire_floor(<name> SOURCES ... [DEPENDS floors/libraries ...] [PRIVATE_DEPENDS ...] [CONTROL] [OWN_FLAGS])
#   one static library a folder; DEPENDS is the order of floors: a floor may include only what it depends on.
#   Its sources are compiled in units of several (SPIRE_UNITY), so names in their anonymous namespaces differ.
#   CONTROL: it decides, writes and reports, but works on no samples or weights: it is compiled at -O1 in place of -O3,
#   in two thirds of the time.
#   OWN_FLAGS: its CMakeLists.txt sets compile options, so that it cannot use the compiled headers of the others.
# spire_replaceable(<files> ...)
#   sources in whose place a test program links its own: each is an object of its own.
# spire_cuda_sources(<floor> <files> ...)
#   files of a floor that include headers of CUDA, cuDNN or NCCL: replaceable ones, left out of builds without CUDA.
#   They alone see these headers, so that turning CUDA on or off compiles nothing else anew.
# spire_cuda_kernels(<floor> <files> ... [TOGETHER <files.cu> ...])
#   kernels of our own for GPUs, and C++ files that launch them: they are compiled into the floor, and by
#   tests/emulation for the CPU. TOGETHER: light ones, compiled in units of several (SPIRE_UNITY).

# An include line is a path from the root of the source tree. Each floor exports a folder of links that holds its own
# folder alone, so that including a floor that it does not depend on does not compile.
set(SPIRE_ROOMS ${PROJECT_BINARY_DIR}/rooms)

function(_spire_room name folder)
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY ${SPIRE_ROOMS}/${name}/${parent})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${SPIRE_ROOMS}/${name}/${folder} SYMBOLIC)
endfunction()

set_property(GLOBAL PROPERTY SPIRE_FLOORS "")

# Headers that most files include are parsed once for all targets of a kind: -fPIE for programs, -fPIC for the others.
set(SPIRE_LARGE_HEADERS <fmt/format.h> <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <span>
  <string> <vector>)

# What is compiled for longer than it runs.
set(SPIRE_QUICK_TO_COMPILE $<$<CONFIG:Release>:-O1>)

# Target of compiled headers that targets of its type and options reuse; made by the first of them.
function(_spire_precompiled name type)
  cmake_parse_arguments(ARG "" "" "OPTIONS;DEPENDS;HEADERS" ${ARGN})
  if(TARGET ${name})
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "int main() {}\n")
  if(type STREQUAL EXECUTABLE)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
  else()
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  endif()
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_link_libraries(${name} PRIVATE spire_flags fmt::fmt ${ARG_DEPENDS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# What a shared library of these objects exports is what SPIRE_API marks.
function(_spire_hide target)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

set(_spire_for_ccache $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)

# Compiles the sources of a target in units of many: headers are parsed, and templates instantiated, once a unit.
function(_spire_in_units target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SPIRE_UNITY} UNITY_BUILD_BATCH_SIZE 40)
endfunction()

function(spire_replaceable)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# The target reuses large headers that are compiled once for all targets at -O3, or with CONTROL for all at -O1.
function(spire_reuse_large_headers target)
  set(precompiled precompiled_for_floors)
  set(headers ${SPIRE_LARGE_HEADERS})
  set(options "")
  if("CONTROL" IN_LIST ARGN)
    string(APPEND precompiled _of_control)
    list(APPEND headers <nlohmann/json.hpp>)
    set(options ${SPIRE_QUICK_TO_COMPILE})
    target_compile_options(${target} PRIVATE ${options})
  endif()
  _spire_precompiled(${precompiled} OBJECT_LIBRARY HEADERS ${headers} OPTIONS ${options} DEPENDS nlohmann_json::nlohmann_json)
  _spire_hide(${precompiled})
  _spire_hide(${target})
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  target_compile_options(${target} PRIVATE ${_spire_for_ccache})
endfunction()

# A floor with OWN_FLAGS compiles the large headers for itself alone.
function(spire_precompile_large_headers target)
  target_precompile_headers(${target} PRIVATE ${SPIRE_LARGE_HEADERS})
  target_compile_options(${target} PRIVATE ${_spire_for_ccache})
endfunction()

function(spire_floor name)
  cmake_parse_arguments(ARG "CONTROL;OWN_FLAGS" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target spire_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(Spire::${name} ALIAS ${target})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  _spire_room(${name} ${folder})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine/api> $<BUILD_INTERFACE:${SPIRE_ROOMS}/${name}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:spire_flags> ${ARG_PRIVATE_DEPENDS})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY SPIRE_FLOORS ${target})
  _spire_hide(${target})
  _spire_in_units(${target})
  if(ARG_CONTROL)
    spire_reuse_large_headers(${target} CONTROL)
  elseif(NOT ARG_OWN_FLAGS)
    spire_reuse_large_headers(${target})
  endif()
endfunction()

function(spire_cuda_sources floor)
  spire_replaceable(${ARGN})
  if(SPIRE_USE_CUDA)
    target_sources(spire_${floor} PRIVATE ${ARGN})
    target_link_libraries(spire_${floor} INTERFACE $<LINK_ONLY:CUDA::cudart_static>)
    set(folders ${CUDAToolkit_INCLUDE_DIRS} ${CuDNN_INCLUDE_DIR} ${NCCL_INCLUDE_DIR})
    list(REMOVE_DUPLICATES folders)
    list(REMOVE_ITEM folders ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
    list(TRANSFORM folders PREPEND -isystem)
    list(FILTER ARGN INCLUDE REGEX "\\.cpp$")
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${folders})
  endif()
endfunction()

# CMake's own units are of C++ alone. Files are included by their paths from the root, so units are the same in any folder.
function(_spire_cuda_units result floor count)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  set(files ${ARGN})
  set(units "")
  while(files)
    list(SUBLIST files 0 ${count} unit)
    list(REMOVE_ITEM files ${unit})
    list(TRANSFORM unit REPLACE "(.+)" "#include \"${folder}/\\1\"")
    list(JOIN unit "\n" text)
    list(LENGTH units number)
    set(path ${CMAKE_CURRENT_BINARY_DIR}/${floor}_cuda_${number}.cu)
    file(CONFIGURE OUTPUT ${path} CONTENT "${text}\n" @ONLY)
    list(APPEND units ${path})
  endwhile()
  set(${result} ${units} PARENT_SCOPE)
endfunction()

function(spire_cuda_kernels floor)
  cmake_parse_arguments(ARG "" "" "TOGETHER" ${ARGN})
  set(paths ${ARG_UNPARSED_ARGUMENTS})
  if(NOT SPIRE_UNITY)
    list(APPEND paths ${ARG_TOGETHER})
  endif()
  list(TRANSFORM paths PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  if(SPIRE_UNITY)
    _spire_cuda_units(units ${floor} 5 ${ARG_TOGETHER})
    list(APPEND paths ${units})
  endif()
  spire_cuda_sources(${floor} ${paths})
  set_property(GLOBAL APPEND PROPERTY SPIRE_CUDA_KERNELS ${paths})
  set_property(GLOBAL APPEND PROPERTY SPIRE_CUDA_FLOORS spire_${floor})
endfunction()
