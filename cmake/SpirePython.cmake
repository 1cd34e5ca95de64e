# Python's headers, NumPy and nanobind, which is a package of PyPI (pip install nanobind): its folder is asked of Python itself.
# Sets SPIRE_NANOBIND, false where the extension module cannot be built.
set(SPIRE_NANOBIND "")
if(NOT SPIRE_PYTHON STREQUAL "OFF")
  find_package(Python 3.10 COMPONENTS Interpreter Development.Module QUIET)
  if(Python_Interpreter_FOUND AND Python_Development.Module_FOUND)
    execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE SPIRE_NANOBIND
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${Python_EXECUTABLE} -c "import numpy" RESULT_VARIABLE without_numpy OUTPUT_QUIET ERROR_QUIET)
    if(without_numpy)
      set(SPIRE_NANOBIND "")
    endif()
  endif()
endif()
spire_dependency(nanobind OPTION SPIRE_PYTHON CHECKED SPIRE_NANOBIND PACKAGE "nanobind of PyPI, python3-dev" BUILD_ONLY
  FOR "the Python package")
