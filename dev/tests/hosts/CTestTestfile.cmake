# CMake generated Testfile for 
# Source directory: /work/main/tests/hosts
# Build directory: /work/main/build/dev/tests/hosts
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/hosts/hosts_test[1]_include.cmake")
