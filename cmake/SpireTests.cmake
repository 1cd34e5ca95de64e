# spire_test(<name> SOURCES ... DEPENDS ... [PREFIX ...])
#   one GoogleTest program, each of its tests a CTest case, its name behind the prefix.
# spire_test_objects(<name> SOURCES ... DEPENDS ...)
#   tests that several programs link.

# What tests include beside the floors they depend on.
_spire_room(tests tests)
_spire_room(tests tools)
set(SPIRE_TEST_ROOM ${SPIRE_ROOMS}/tests)

# Tests are compiled for longer than they run: -O1 in place of -O3. With the headers it takes 40 % off.
function(_spire_quick_to_compile target)
  get_target_property(type ${target} TYPE)
  string(TOLOWER precompiled_for_${type} precompiled)
  set(quick $<$<CONFIG:Release>:-O1>)
  _spire_precompiled(${precompiled} ${type} OPTIONS ${quick} DEPENDS nlohmann_json::nlohmann_json GTest::gmock
    HEADERS ${SPIRE_LARGE_HEADERS} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp> <random> <thread>)
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  target_compile_options(${target} PRIVATE ${quick} ${_spire_for_ccache})
endfunction()

# WAITS: its tests wait more than they compute, for time limits to pass; tools/test.sh runs many of them at once.
function(spire_test name)
  cmake_parse_arguments(ARG "WAITS" "PREFIX" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${SPIRE_TEST_ROOM})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} spire_flags GTest::gtest_main GTest::gmock)
  _spire_quick_to_compile(${name})
  include(GoogleTest)
  set(label "")
  if(ARG_WAITS)
    set(label LABELS waits)  # an empty label would swallow the property behind it
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${ARG_PREFIX}" NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 600 ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp" ${label})
endfunction()

function(spire_test_objects name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${SPIRE_TEST_ROOM})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} GTest::gmock PRIVATE spire_flags)
  _spire_quick_to_compile(${name})
endfunction()
