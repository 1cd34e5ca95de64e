# CMake generated Testfile for 
# Source directory: /work/main/tests/runs
# Build directory: /work/main/build/dev/tests/runs
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/runs/runs_test[1]_include.cmake")
include("/work/main/build/dev/tests/runs/mpirun_test[1]_include.cmake")
include("/work/main/build/dev/tests/runs/fault_test[1]_include.cmake")
