# What goes into a wheel beside the files of spire/: the module, its stubs, and the libraries that it links, which lie in
# spire/lib and find each other there (DT_RPATH; see SpireBundle.cmake). C's and C++'s libraries come from the machine, as
# do those of a GPU.
set_target_properties(spire_python PROPERTIES INSTALL_RPATH "$ORIGIN/lib" INSTALL_RPATH_USE_LINK_PATH OFF)
install(TARGETS spire_python RUNTIME_DEPENDENCY_SET spire_python_needs LIBRARY DESTINATION spire COMPONENT python)
install(RUNTIME_DEPENDENCY_SET spire_python_needs
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s)[.]so" "^lib(cuda|cudnn|nccl|cublas|nvidia)"
  DIRECTORIES /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/serial
  LIBRARY DESTINATION spire/lib COMPONENT python)
install(DIRECTORY ${package}/_core DESTINATION spire COMPONENT python FILES_MATCHING PATTERN "*.pyi")
