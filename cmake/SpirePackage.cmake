# cpack: a DEB and a TGZ of what cmake --install installs. Configure with the preset package, so that they run on other
# machines than this one. tools/package_check.sh makes and tries them.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME spire)
set(CPACK_PACKAGE_VENDOR "the Spire maintainers")
set(CPACK_PACKAGE_CONTACT "Spire maintainers <maintainers@users.noreply.a-seed-ad1dbb60.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "data-parallel training engine for neural networks")
set(CPACK_PACKAGE_DESCRIPTION "Trains neural networks on one or many devices, with the same bits on any number of them.
The package has the program trainer with example configs, and the library for
C++ and C with its headers, shared and static.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)

# The program's and the library's needs are read from their files.
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, dataset-fashion-mnist")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, pkgconf")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
