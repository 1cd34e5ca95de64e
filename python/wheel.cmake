# What goes into a wheel beside the files of spire/: the module and the program `trainer`, which both link spire/lib/libspire.so,
# the other libraries that these link, which lie there too and find each other (DT_RPATH; see SpireBundle.cmake), and the
# configs. C's and C++'s libraries come from the machine, as do those of a GPU.
add_executable(spire_wheel_trainer ${PROJECT_SOURCE_DIR}/tools/main.cpp)
target_link_libraries(spire_wheel_trainer PRIVATE spire spire_flags spire_opened_libraries)
set_target_properties(spire_wheel_trainer PROPERTIES OUTPUT_NAME trainer RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/wheel)
target_link_options(spire_wheel_trainer PRIVATE -Wl,--disable-new-dtags)
target_link_options(spire PRIVATE -Wl,--disable-new-dtags)

set(folders spire_python "$ORIGIN/lib" spire "$ORIGIN" spire_wheel_trainer "$ORIGIN/../lib" spire_hdf5_check "$ORIGIN/../lib")
while(folders)
  list(POP_FRONT folders target path)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH ${path} INSTALL_RPATH_USE_LINK_PATH OFF)
endwhile()
install(TARGETS spire_python RUNTIME_DEPENDENCY_SET spire_wheel_needs LIBRARY DESTINATION spire COMPONENT python)
install(TARGETS spire RUNTIME_DEPENDENCY_SET spire_wheel_needs
  LIBRARY DESTINATION spire/lib COMPONENT python NAMELINK_SKIP)
install(TARGETS spire_wheel_trainer spire_hdf5_check RUNTIME_DEPENDENCY_SET spire_wheel_needs
  RUNTIME DESTINATION spire/bin COMPONENT python)
install(RUNTIME_DEPENDENCY_SET spire_wheel_needs
  PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util|stdc[+][+]|gcc_s)[.]so"
  DIRECTORIES /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/hdf5/serial
  LIBRARY DESTINATION spire/lib COMPONENT python)
# A wheel has no links: each library has the name by which it is looked for, and no other.
install(CODE [[
  file(GLOB files "${CMAKE_INSTALL_PREFIX}/spire/lib/*")
  foreach(link ${files})
    if(IS_SYMLINK ${link})
      file(REAL_PATH ${link} library)
      file(RENAME ${library} ${link})
    endif()
  endforeach()]] COMPONENT python)
install(DIRECTORY ${PROJECT_BINARY_DIR}/python/spire/_core DESTINATION spire COMPONENT python FILES_MATCHING PATTERN "*.pyi")
install(PROGRAMS python/trainer DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
install(DIRECTORY configs DESTINATION ${SKBUILD_DATA_DIR}/share/spire COMPONENT python FILES_MATCHING PATTERN "*.yaml")
