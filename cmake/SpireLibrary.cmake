# spire_libraries()   what other programs link, made of the objects of all floors:
#   spire            libspire.so: exports what SPIRE_API marks
#   spire_static     libspire.a: its users link all that Spire stands on
#   spire_c          libspire_c.so: the functions of <spire/c.h>, which call those that libspire.so exports
#   spire_c_static   libspire_c.a: the same over libspire.a
# spire_pkg_config(<folder>)   the same for pkg-config, into <folder>: spire.pc, spire-static.pc, spire_c.pc, spire_c-static.pc

# A minor version may add members to structs of the C++ API, so it is part of the soname. C's structs tell their sizes:
# programs go on with later libraries of the same SPIRE_C_API_VERSION.
set(SPIRE_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/engine/api/spire/c.h)
file(STRINGS ${PROJECT_SOURCE_DIR}/engine/api/spire/c.h version REGEX "define SPIRE_C_API_VERSION")
string(REGEX MATCH "[0-9]+$" SPIRE_C_SOVERSION "${version}")

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

# A shared library that exports what cmake/<map> names.
function(_spire_shared library map)
  set(map ${PROJECT_SOURCE_DIR}/cmake/${map})
  add_library(${library} SHARED ${ARGN})
  target_link_options(${library} PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${map})
  set_property(TARGET ${library} APPEND PROPERTY LINK_DEPENDS ${map})
  if(NOT SPIRE_SANITIZE)  # a sanitizer's own symbols are in the program
    target_link_options(${library} PRIVATE -Wl,--no-undefined)
  endif()
endfunction()

function(spire_libraries)
  get_property(floors GLOBAL PROPERTY SPIRE_FLOORS)
  list(REMOVE_ITEM floors spire_c_api)
  list(TRANSFORM floors REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  _spire_outside(outside options)

  # The floors' archives add what they link themselves, and no object: none is missing.
  _spire_shared(spire exports.map ${objects})
  target_link_libraries(spire PRIVATE ${floors})
  get_property(folders GLOBAL PROPERTY SPIRE_OPENED_FOLDERS)
  set_property(TARGET spire APPEND PROPERTY BUILD_RPATH ${folders})
  set_property(TARGET spire APPEND PROPERTY INSTALL_RPATH ${folders})
  set_target_properties(spire PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${SPIRE_SOVERSION})
  _spire_shared(spire_c exports_c.map $<TARGET_OBJECTS:spire_c_api>)
  target_link_libraries(spire_c PRIVATE spire)
  # Linkers of C programs look for libspire.so there, too.
  set_target_properties(spire_c PROPERTIES INSTALL_RPATH "$ORIGIN"
    VERSION ${SPIRE_C_SOVERSION}.${PROJECT_VERSION} SOVERSION ${SPIRE_C_SOVERSION})

  add_library(spire_static STATIC ${objects})
  target_link_libraries(spire_static PRIVATE ${outside})
  target_link_options(spire_static INTERFACE ${options})
  add_library(spire_c_static STATIC $<TARGET_OBJECTS:spire_c_api>)
  target_link_libraries(spire_c_static PRIVATE spire_static)

  foreach(library spire spire_static spire_c spire_c_static)
    string(REPLACE spire_c c name ${library})
    add_library(Spire::${name} ALIAS ${library})
    set_target_properties(${library} PROPERTIES EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
    if(NOT name MATCHES "^c")  # C programs need no compiler of C++
      target_compile_features(${library} PUBLIC cxx_std_20)
    endif()
    string(REPLACE _static "" output ${library})
    set_target_properties(${library} PROPERTIES OUTPUT_NAME ${output})
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

function(_spire_pc file SPIRE_LIBS SPIRE_LIBS_PRIVATE)
  cmake_path(GET file STEM name)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/spire.pc.in ${file} @ONLY)
endfunction()

function(spire_pkg_config folder)
  _spire_outside(outside options)
  _spire_link_words(words ${outside})
  list(REVERSE words)  # a library stands behind those that need it
  list(REMOVE_DUPLICATES words)
  list(REVERSE words)
  list(JOIN words " " words)
  list(JOIN options " " options)
  string(STRIP "${words} ${options}" outside)
  file(RELATIVE_PATH SPIRE_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" SPIRE_PREFIX ${SPIRE_PREFIX})
  _spire_pc(${folder}/spire.pc -lspire "${outside}")
  _spire_pc(${folder}/spire-static.pc "-l:libspire.a ${outside}" "")
  _spire_pc(${folder}/spire_c.pc -lspire_c "")
  _spire_pc(${folder}/spire_c-static.pc "-l:libspire_c.a -l:libspire.a ${outside} -lstdc++ -lm" "")
endfunction()
