# CMake generated Testfile for 
# Source directory: /work/main/tests
# Build directory: /work/main/build/dev/tests
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
subdirs("base")
subdirs("process")
subdirs("device")
subdirs("kernels")
subdirs("graph")
subdirs("data")
subdirs("collective")
subdirs("optim")
subdirs("train")
subdirs("emulation")
subdirs("observe")
subdirs("config")
subdirs("models")
subdirs("tools")
subdirs("runs")
subdirs("hosts")
subdirs("install")
subdirs("peers")
subdirs("fuzz")
