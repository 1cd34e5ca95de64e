# CMake generated Testfile for 
# Source directory: /work/main/tests/train
# Build directory: /work/main/build/dev/tests/train
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/train/checkpoint_test[1]_include.cmake")
include("/work/main/build/dev/tests/train/train_test[1]_include.cmake")
include("/work/main/build/dev/tests/train/allocation_test[1]_include.cmake")
