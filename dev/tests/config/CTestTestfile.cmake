# CMake generated Testfile for 
# Source directory: /work/main/tests/config
# Build directory: /work/main/build/dev/tests/config
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/config/config_test[1]_include.cmake")
