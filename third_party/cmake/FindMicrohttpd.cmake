# Finds GNU libmicrohttpd, which brings no config file for CMake: target Microhttpd::microhttpd, Microhttpd_VERSION.
find_path(Microhttpd_INCLUDE_DIR microhttpd.h)
find_library(Microhttpd_LIBRARY NAMES microhttpd)
if(EXISTS ${Microhttpd_INCLUDE_DIR}/microhttpd.h)
  file(STRINGS ${Microhttpd_INCLUDE_DIR}/microhttpd.h _line REGEX "#define MHD_VERSION 0x")
  string(REGEX REPLACE ".*0x0*([0-9]+)([0-9][0-9])([0-9][0-9])([0-9][0-9]).*" "\\1.\\2.\\3" Microhttpd_VERSION "${_line}")
  string(REGEX REPLACE "\\.0+([0-9])" ".\\1" Microhttpd_VERSION "${Microhttpd_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Microhttpd
  REQUIRED_VARS Microhttpd_LIBRARY Microhttpd_INCLUDE_DIR VERSION_VAR Microhttpd_VERSION)
if(Microhttpd_FOUND AND NOT TARGET Microhttpd::microhttpd)
  add_library(Microhttpd::microhttpd UNKNOWN IMPORTED)
  set_target_properties(Microhttpd::microhttpd PROPERTIES
    IMPORTED_LOCATION ${Microhttpd_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${Microhttpd_INCLUDE_DIR})
endif()
mark_as_advanced(Microhttpd_INCLUDE_DIR)
