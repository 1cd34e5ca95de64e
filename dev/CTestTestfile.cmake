# CMake generated Testfile for 
# Source directory: /work/main
# Build directory: /work/main/build/dev
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
subdirs("engine/base")
subdirs("engine/process")
subdirs("engine/device")
subdirs("kernels")
subdirs("engine/graph")
subdirs("engine/data")
subdirs("engine/collective")
subdirs("engine/optim")
subdirs("engine/observe")
subdirs("engine/config")
subdirs("models")
subdirs("engine/train")
subdirs("tools")
subdirs("tests")
