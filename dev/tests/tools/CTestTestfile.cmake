# CMake generated Testfile for 
# Source directory: /work/main/tests/tools
# Build directory: /work/main/build/dev/tests/tools
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/tools/tools_test[1]_include.cmake")
add_test([=[GpuCheck.SaysWhatPassedFailedAndWasSkipped]=] "/work/main/tests/tools/gpu_check_test.sh" "/work/main/tools/gpu_check.sh" "/work/main/build/dev/tools/trainer")
set_tests_properties([=[GpuCheck.SaysWhatPassedFailedAndWasSkipped]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/tools/CMakeLists.txt;12;add_test;/work/main/tests/tools/CMakeLists.txt;0;")
