# Finds the core of prometheus-cpp, without its servers: target PrometheusCpp::core. Its own config file asks for what the
# servers need (civetweb, curl), and Debian's package does not install all of that.
find_path(PrometheusCpp_INCLUDE_DIR prometheus/text_serializer.h)
find_library(PrometheusCpp_LIBRARY NAMES prometheus-cpp-core)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PrometheusCpp REQUIRED_VARS PrometheusCpp_LIBRARY PrometheusCpp_INCLUDE_DIR)
if(PrometheusCpp_FOUND AND NOT TARGET PrometheusCpp::core)
  add_library(PrometheusCpp::core UNKNOWN IMPORTED)
  set_target_properties(PrometheusCpp::core PROPERTIES
    IMPORTED_LOCATION ${PrometheusCpp_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${PrometheusCpp_INCLUDE_DIR})
endif()
mark_as_advanced(PrometheusCpp_INCLUDE_DIR)
