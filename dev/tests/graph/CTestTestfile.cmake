# CMake generated Testfile for 
# Source directory: /work/main/tests/graph
# Build directory: /work/main/build/dev/tests/graph
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/graph/graph_test[1]_include.cmake")
