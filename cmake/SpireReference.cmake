# spire_reference()   the target `reference`: HTML of the public headers, by Doxygen, in <build>/reference/html
function(spire_reference)
  if(NOT SPIRE_HAS_doxygen)
    return()
  endif()
  configure_file(docs/Doxyfile.in ${PROJECT_BINARY_DIR}/reference/Doxyfile @ONLY)
  add_custom_target(reference VERBATIM COMMENT "Making reference/html/index.html"
    COMMAND ${SPIRE_PROGRAM_doxygen} ${PROJECT_BINARY_DIR}/reference/Doxyfile)
endfunction()
