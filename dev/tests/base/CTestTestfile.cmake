# CMake generated Testfile for 
# Source directory: /work/main/tests/base
# Build directory: /work/main/build/dev/tests/base
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/base/base_test[1]_include.cmake")
