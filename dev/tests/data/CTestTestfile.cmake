# CMake generated Testfile for 
# Source directory: /work/main/tests/data
# Build directory: /work/main/build/dev/tests/data
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/data/data_test[1]_include.cmake")
include("/work/main/build/dev/tests/data/data_allocation_test[1]_include.cmake")
include("/work/main/build/dev/tests/data/pictures_test[1]_include.cmake")
include("/work/main/build/dev/tests/data/convert_test[1]_include.cmake")
