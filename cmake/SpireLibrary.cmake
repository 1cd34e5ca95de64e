# spire_libraries()   what other programs link, made of the objects of all floors:
#   spire          libspire.so: exports what SPIRE_API marks; its users need fmt, whose headers the public ones include
#   spire_static   libspire.a: its users link all that Spire stands on
# spire_pkg_config(<folder>)   the same for pkg-config, into <folder>: spire.pc and spire-static.pc

# A minor version may add members to structs of the API, so it is part of the soname.
set(SPIRE_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# What users of the floors link beside them, and with which options.
function(_spire_outside libraries options)
  set(found "")
  set(flags "")
  get_property(floors GLOBAL PROPERTY SPIRE_FLOORS)
  foreach(floor ${floors})
    get_target_property(items ${floor} INTERFACE_LINK_LIBRARIES)
    list(APPEND found ${items})
    get_target_property(items ${floor} INTERFACE_LINK_OPTIONS)
    if(items)
      list(APPEND flags ${items})
    endif()
  endforeach()
  list(TRANSFORM found REPLACE "^[$]<LINK_ONLY:(.*)>$" "\\1")
  list(FILTER found EXCLUDE REGEX "^Spire::|spire_flags")
  list(REMOVE_DUPLICATES found)
  set(${libraries} ${found} PARENT_SCOPE)
  set(${options} ${flags} PARENT_SCOPE)
endfunction()

function(spire_libraries)
  get_property(floors GLOBAL PROPERTY SPIRE_FLOORS)
  list(TRANSFORM floors REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  _spire_outside(outside options)

  # The floors' archives add what they link themselves, and no object: none is missing.
  add_library(spire SHARED ${objects})
  target_link_libraries(spire PRIVATE ${floors})
  target_link_options(spire PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
  set_property(TARGET spire APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
  if(NOT SPIRE_SANITIZE)  # a sanitizer's own symbols are in the program
    target_link_options(spire PRIVATE -Wl,--no-undefined)
  endif()
  set_target_properties(spire PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${SPIRE_SOVERSION} LINKER_LANGUAGE CXX)

  add_library(spire_static STATIC ${objects})
  target_link_libraries(spire_static PRIVATE ${outside})
  target_link_options(spire_static INTERFACE ${options})
  set_target_properties(spire_static PROPERTIES OUTPUT_NAME spire LINKER_LANGUAGE CXX)

  foreach(library spire spire_static)
    add_library(Spire::${library} ALIAS ${library})
    target_link_libraries(${library} PUBLIC fmt::fmt)
    target_compile_features(${library} PUBLIC cxx_std_20)
    # nvcc does not tell fmt of C++20's constexpr.
    target_compile_definitions(${library} INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>)
    target_include_directories(${library} INTERFACE
      $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/engine/api> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
endfunction()

# The words by which a linker finds a library that is a file: -lz where it looks by itself, else the path.
function(_spire_link_word result path)
  cmake_path(GET path PARENT_PATH folder)
  cmake_path(GET path FILENAME name)
  file(REAL_PATH ${folder} folder)
  if(folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES AND name MATCHES "^lib(.+)[.](so|a)$")
    set(path -l${CMAKE_MATCH_1})
  endif()
  set(${result} ${path} PARENT_SCOPE)
endfunction()

# The words for targets, paths and names of libraries, and for what these link in turn.
function(_spire_link_words result)
  set(words "")
  foreach(item ${ARGN})
    string(REGEX REPLACE "^[$]<LINK_ONLY:(.*)>$" "\\1" item "${item}")
    if(TARGET ${item})
      get_target_property(type ${item} TYPE)
      if(NOT type STREQUAL "INTERFACE_LIBRARY")
        get_target_property(path ${item} LOCATION)
        _spire_link_word(word ${path})
        list(APPEND words ${word})
      endif()
      get_target_property(next ${item} INTERFACE_LINK_LIBRARIES)
      if(next)
        _spire_link_words(more ${next})
        list(APPEND words ${more})
      endif()
    elseif(IS_ABSOLUTE "${item}")
      _spire_link_word(word ${item})
      list(APPEND words ${word})
    elseif(item MATCHES "^-")
      list(APPEND words ${item})
    elseif(item MATCHES "^[A-Za-z0-9_+.]+$")
      list(APPEND words -l${item})
    endif()
  endforeach()
  set(${result} ${words} PARENT_SCOPE)
endfunction()

function(spire_pkg_config folder)
  _spire_outside(outside options)
  _spire_link_words(words ${outside})
  list(REVERSE words)  # a library stands behind those that need it
  list(REMOVE_DUPLICATES words)
  list(REVERSE words)
  list(JOIN words " " SPIRE_OUTSIDE)
  list(JOIN options " " options)
  string(STRIP "${SPIRE_OUTSIDE} ${options}" SPIRE_OUTSIDE)
  file(RELATIVE_PATH SPIRE_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" SPIRE_PREFIX ${SPIRE_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/spire.pc.in ${folder}/spire.pc @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/spire-static.pc.in ${folder}/spire-static.pc @ONLY)
endfunction()
