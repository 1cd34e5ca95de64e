# cmake --install: the public headers as <spire/...>, the shared and the static libraries, the trainer, configs and docs, and
# the files by which find_package(Spire) and pkg-config find them.
include(CMakePackageConfigHelpers)
include(SpireLibrary)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/Spire)
spire_libraries()
spire_pkg_config(${PROJECT_BINARY_DIR}/pkgconfig)

install(TARGETS spire spire_c EXPORT SpireTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS spire_static spire_c_static EXPORT SpireStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT SpireTargets NAMESPACE Spire:: DESTINATION ${package_folder})
install(EXPORT SpireStaticTargets NAMESPACE Spire:: DESTINATION ${package_folder})
install(DIRECTORY ${PROJECT_BINARY_DIR}/pkgconfig DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY engine/api/spire DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS trainer spire_hdf5_check RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY configs DESTINATION ${CMAKE_INSTALL_DATADIR}/spire FILES_MATCHING PATTERN "*.yaml" PATTERN "*.yml" PATTERN "*.json")
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/spire USE_SOURCE_PERMISSIONS PATTERN "*.in" EXCLUDE)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/spire)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/spire RENAME copyright)

# A program that links the static library needs what it is made of: the package looks for the same again.
get_property(SPIRE_FIND_DEPENDENCIES GLOBAL PROPERTY SPIRE_FIND_DEPENDENCIES)
list(JOIN SPIRE_FIND_DEPENDENCIES "\n  " SPIRE_FIND_DEPENDENCIES)
configure_package_config_file(cmake/SpireConfig.cmake.in ${PROJECT_BINARY_DIR}/SpireConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SpireConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SpireConfig.cmake ${PROJECT_BINARY_DIR}/SpireConfigVersion.cmake
  DESTINATION ${package_folder})
install(DIRECTORY third_party/cmake/ DESTINATION ${package_folder} FILES_MATCHING PATTERN "Find*.cmake")
