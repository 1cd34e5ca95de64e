#----------------------------------------------------------------
# Generated CMake target import file for configuration "Release".
#----------------------------------------------------------------

# Commands may need to know the format version.
set(CMAKE_IMPORT_FILE_VERSION 1)

# Import target "Spire::base" for configuration "Release"
set_property(TARGET Spire::base APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::base PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_base.a"
  )

list(APPEND _cmake_import_check_targets Spire::base )
list(APPEND _cmake_import_check_files_for_Spire::base "${_IMPORT_PREFIX}/lib/libspire_base.a" )

# Import target "Spire::hdf5" for configuration "Release"
set_property(TARGET Spire::hdf5 APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::hdf5 PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_hdf5.a"
  )

list(APPEND _cmake_import_check_targets Spire::hdf5 )
list(APPEND _cmake_import_check_files_for_Spire::hdf5 "${_IMPORT_PREFIX}/lib/libspire_hdf5.a" )

# Import target "Spire::watch" for configuration "Release"
set_property(TARGET Spire::watch APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::watch PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_watch.a"
  )

list(APPEND _cmake_import_check_targets Spire::watch )
list(APPEND _cmake_import_check_files_for_Spire::watch "${_IMPORT_PREFIX}/lib/libspire_watch.a" )

# Import target "Spire::process" for configuration "Release"
set_property(TARGET Spire::process APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::process PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_process.a"
  )

list(APPEND _cmake_import_check_targets Spire::process )
list(APPEND _cmake_import_check_files_for_Spire::process "${_IMPORT_PREFIX}/lib/libspire_process.a" )

# Import target "Spire::device" for configuration "Release"
set_property(TARGET Spire::device APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::device PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_device.a"
  )

list(APPEND _cmake_import_check_targets Spire::device )
list(APPEND _cmake_import_check_files_for_Spire::device "${_IMPORT_PREFIX}/lib/libspire_device.a" )

# Import target "Spire::kernels" for configuration "Release"
set_property(TARGET Spire::kernels APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::kernels PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_kernels.a"
  )

list(APPEND _cmake_import_check_targets Spire::kernels )
list(APPEND _cmake_import_check_files_for_Spire::kernels "${_IMPORT_PREFIX}/lib/libspire_kernels.a" )

# Import target "Spire::graph" for configuration "Release"
set_property(TARGET Spire::graph APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::graph PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_graph.a"
  )

list(APPEND _cmake_import_check_targets Spire::graph )
list(APPEND _cmake_import_check_files_for_Spire::graph "${_IMPORT_PREFIX}/lib/libspire_graph.a" )

# Import target "Spire::data" for configuration "Release"
set_property(TARGET Spire::data APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::data PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_data.a"
  )

list(APPEND _cmake_import_check_targets Spire::data )
list(APPEND _cmake_import_check_files_for_Spire::data "${_IMPORT_PREFIX}/lib/libspire_data.a" )

# Import target "Spire::collective" for configuration "Release"
set_property(TARGET Spire::collective APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::collective PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_collective.a"
  )

list(APPEND _cmake_import_check_targets Spire::collective )
list(APPEND _cmake_import_check_files_for_Spire::collective "${_IMPORT_PREFIX}/lib/libspire_collective.a" )

# Import target "Spire::optim" for configuration "Release"
set_property(TARGET Spire::optim APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::optim PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_optim.a"
  )

list(APPEND _cmake_import_check_targets Spire::optim )
list(APPEND _cmake_import_check_files_for_Spire::optim "${_IMPORT_PREFIX}/lib/libspire_optim.a" )

# Import target "Spire::observe" for configuration "Release"
set_property(TARGET Spire::observe APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::observe PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_observe.a"
  )

list(APPEND _cmake_import_check_targets Spire::observe )
list(APPEND _cmake_import_check_files_for_Spire::observe "${_IMPORT_PREFIX}/lib/libspire_observe.a" )

# Import target "Spire::config" for configuration "Release"
set_property(TARGET Spire::config APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::config PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_config.a"
  )

list(APPEND _cmake_import_check_targets Spire::config )
list(APPEND _cmake_import_check_files_for_Spire::config "${_IMPORT_PREFIX}/lib/libspire_config.a" )

# Import target "Spire::models" for configuration "Release"
set_property(TARGET Spire::models APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::models PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_models.a"
  )

list(APPEND _cmake_import_check_targets Spire::models )
list(APPEND _cmake_import_check_files_for_Spire::models "${_IMPORT_PREFIX}/lib/libspire_models.a" )

# Import target "Spire::checkpoint" for configuration "Release"
set_property(TARGET Spire::checkpoint APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::checkpoint PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_checkpoint.a"
  )

list(APPEND _cmake_import_check_targets Spire::checkpoint )
list(APPEND _cmake_import_check_files_for_Spire::checkpoint "${_IMPORT_PREFIX}/lib/libspire_checkpoint.a" )

# Import target "Spire::train" for configuration "Release"
set_property(TARGET Spire::train APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(Spire::train PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "CXX"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/libspire_train.a"
  )

list(APPEND _cmake_import_check_targets Spire::train )
list(APPEND _cmake_import_check_files_for_Spire::train "${_IMPORT_PREFIX}/lib/libspire_train.a" )

# Commands beyond this point should not need to know the version.
set(CMAKE_IMPORT_FILE_VERSION)
