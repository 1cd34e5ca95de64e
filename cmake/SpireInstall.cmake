# cmake --install: the public headers as <spire/...>, a static library a floor, the trainer, the configs, and the package
# files by which find_package(Spire) gives the target Spire::spire, all floors together.
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Spire)

get_property(floors GLOBAL PROPERTY SPIRE_FLOORS)
add_library(spire INTERFACE)
add_library(Spire::spire ALIAS spire)
target_link_libraries(spire INTERFACE ${floors})

install(TARGETS spire ${floors} EXPORT SpireTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT SpireTargets NAMESPACE Spire:: DESTINATION ${package_folder})
install(DIRECTORY engine/api/spire DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(TARGET trainer)
  install(TARGETS trainer spire_hdf5_check RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/spire FILES_MATCHING PATTERN "*.yaml" PATTERN "*.yml" PATTERN "*.json")

# A consumer links static libraries, so it needs what they are made of: the package looks for the same again.
get_property(SPIRE_FIND_DEPENDENCIES GLOBAL PROPERTY SPIRE_FIND_DEPENDENCIES)
list(JOIN SPIRE_FIND_DEPENDENCIES "\n" SPIRE_FIND_DEPENDENCIES)
configure_package_config_file(cmake/SpireConfig.cmake.in ${PROJECT_BINARY_DIR}/SpireConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SpireConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SpireConfig.cmake ${PROJECT_BINARY_DIR}/SpireConfigVersion.cmake
  DESTINATION ${package_folder})
install(DIRECTORY third_party/cmake/ DESTINATION ${package_folder} FILES_MATCHING PATTERN "Find*.cmake")
