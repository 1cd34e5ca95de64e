# Finds Apache Arrow and Parquet for C++: target ArrowParquet::ArrowParquet, ArrowParquet_VERSION.
#
# ArrowParquet_ROOT may be a prefix, or the folder of Python's pyarrow, whose wheel has headers and libraries, without the
# links libarrow.so and libparquet.so.
find_path(ArrowParquet_INCLUDE_DIR parquet/arrow/reader.h)
set(_of_wheel "")
foreach(_root "${ArrowParquet_ROOT}" "$ENV{ArrowParquet_ROOT}")
  if(_root)
    file(GLOB _files RELATIVE ${_root} ${_root}/libarrow.so.* ${_root}/libparquet.so.*)
    list(APPEND _of_wheel ${_files})
  endif()
endforeach()
foreach(_name arrow parquet)
  set(_files ${_of_wheel})
  list(FILTER _files INCLUDE REGEX "^lib${_name}\\.so")
  find_library(ArrowParquet_${_name}_LIBRARY NAMES ${_name} ${_files})
  mark_as_advanced(ArrowParquet_${_name}_LIBRARY)
endforeach()
if(EXISTS ${ArrowParquet_INCLUDE_DIR}/arrow/util/config.h)
  file(STRINGS ${ArrowParquet_INCLUDE_DIR}/arrow/util/config.h _line REGEX "#define ARROW_VERSION_STRING ")
  string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" ArrowParquet_VERSION "${_line}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ArrowParquet
  REQUIRED_VARS ArrowParquet_parquet_LIBRARY ArrowParquet_arrow_LIBRARY ArrowParquet_INCLUDE_DIR
  VERSION_VAR ArrowParquet_VERSION)
if(ArrowParquet_FOUND AND NOT TARGET ArrowParquet::ArrowParquet)
  add_library(ArrowParquet::arrow UNKNOWN IMPORTED)
  set_target_properties(ArrowParquet::arrow PROPERTIES
    IMPORTED_LOCATION ${ArrowParquet_arrow_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${ArrowParquet_INCLUDE_DIR})
  add_library(ArrowParquet::ArrowParquet UNKNOWN IMPORTED)
  set_target_properties(ArrowParquet::ArrowParquet PROPERTIES
    IMPORTED_LOCATION ${ArrowParquet_parquet_LIBRARY} INTERFACE_LINK_LIBRARIES ArrowParquet::arrow)
endif()
mark_as_advanced(ArrowParquet_INCLUDE_DIR)
