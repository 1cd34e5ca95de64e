# spire_test(<name> SOURCES ... DEPENDS ... [CASES] [WAITS] [NUMERIC])
#   one GoogleTest program. Each of its suites is a CTest case, <name>.<suite>: a process.
#   CASES: each of its tests is one, <name>.<suite>.<test>: those that take seconds, or want a process of their own.
#   WAITS: its tests wait more than they compute, for time limits to pass; tools/test.sh runs many of them at once.
#   NUMERIC: it computes references, or trains in its own process, and is compiled at -O1.
# spire_test_objects(<name> SOURCES ... DEPENDS ... [NUMERIC])
#   tests that several programs link.
# spire_suites(<program> [ONLY <filter>] [NOT <filter>] [CASES] [WAITS])
#   registers the suites of a program made otherwise, or those that GoogleTest's filters name.
# spire_register_suites()
#   once, behind all of them: CTest lists their suites when it starts.

# What tests include beside the floors they depend on.
_spire_room(tests tests)
_spire_room(tests tools)
set(SPIRE_TEST_ROOM ${SPIRE_ROOMS}/tests)

# Tests are compiled for longer than they run: -O0 in place of -O3. With the headers it takes 55 % off.
function(_spire_quick_to_compile target numeric)
  get_target_property(type ${target} TYPE)
  string(TOLOWER precompiled_for_${type} precompiled)
  set(options $<$<CONFIG:Release>:-O0>)
  if(numeric)
    string(APPEND precompiled _with_numbers)
    set(options ${SPIRE_QUICK_TO_COMPILE})
  endif()
  _spire_precompiled(${precompiled} ${type} OPTIONS ${options} DEPENDS nlohmann_json::nlohmann_json GTest::gmock
    HEADERS ${SPIRE_LARGE_HEADERS} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp> <random> <thread>)
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  target_compile_options(${target} PRIVATE ${options} ${_spire_for_ccache})
  _spire_in_units(${target})
endfunction()

function(spire_test name)
  cmake_parse_arguments(ARG "CASES;WAITS;NUMERIC" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${SPIRE_TEST_ROOM})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} spire_flags GTest::gtest_main GTest::gmock)
  _spire_quick_to_compile(${name} ${ARG_NUMERIC})
  set(words GPU_ROWS)
  foreach(word CASES WAITS)
    if(ARG_${word})
      list(APPEND words ${word})
    endif()
  endforeach()
  spire_suites(${name} ${words})
endfunction()

# GPU_ROWS: some of its tests need a GPU, by their names.
function(spire_suites program)
  list(JOIN ARGN " " words)
  set_property(GLOBAL APPEND_STRING PROPERTY SPIRE_SUITES
    "spire_register(${program} $<TARGET_FILE:${program}> ${CMAKE_CURRENT_BINARY_DIR} ${words})\n")
endfunction()

function(spire_register_suites)
  get_property(programs GLOBAL PROPERTY SPIRE_SUITES)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/suites.cmake)
  file(GENERATE OUTPUT ${file} CONTENT
"set(SPIRE_CMAKE ${CMAKE_COMMAND})
set(SPIRE_TEST_ENVIRONMENT TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp
  LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp)
include(${PROJECT_SOURCE_DIR}/cmake/register_suites.cmake)
${programs}spire_say_what_needs_a_gpu()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

function(spire_test_objects name)
  cmake_parse_arguments(ARG "NUMERIC" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${SPIRE_TEST_ROOM})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} GTest::gmock PRIVATE spire_flags)
  _spire_quick_to_compile(${name} ${ARG_NUMERIC})
endfunction()
