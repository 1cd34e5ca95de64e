# CMake generated Testfile for 
# Source directory: /work/main/tests/peers
# Build directory: /work/main/build/dev/tests/peers
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/peers/peers_test[1]_include.cmake")
