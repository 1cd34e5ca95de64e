# What spire_dependency() says and does in each case. configure(<succeeds> <arguments>) runs the fixture project.
function(configure succeeds)
  file(REMOVE_RECURSE ${SCRATCH})
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH} -G ${GENERATOR} -DSPIRE_CMAKE=${SPIRE_CMAKE} ${ARGN}
    RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if((code EQUAL 0 AND NOT succeeds) OR (NOT code EQUAL 0 AND succeeds))
    message(FATAL_ERROR "with ${ARGN} it ended with ${code}:\n${text}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  set(text "${text}" PARENT_SCOPE)
endfunction()

function(expect)
  foreach(words ${ARGN})
    string(FIND "${text}" "${words}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "'${words}' is missing in: ${text}")
    endif()
  endforeach()
endfunction()

# AUTO uses what is there; what is used together is not used in part.
configure(TRUE)
expect("present 2.5 /present/include the test" "absent - - not used: find_package(Absent 3.1) found none"
  "helper 2.5 /present/include not used: no absent" "behind - - not used: needs absent"
  "present TRUE absent FALSE together FALSE")

# OFF does not look.
configure(TRUE -DSPIRE_TOGETHER=OFF)
expect("absent - - not used: SPIRE_TOGETHER=OFF" "helper - - not used: SPIRE_TOGETHER=OFF")

# ON stops, and says where it looked.
configure(FALSE -DSPIRE_TOGETHER=ON -DCMAKE_PREFIX_PATH=/looked/here -DAbsent_ROOT=/and/there)
expect("SPIRE_TOGETHER=ON, but absent is missing: find_package(Absent 3.1) found none" "/looked/here" "/and/there")

# A word that is no choice.
configure(FALSE -DSPIRE_TOGETHER=perhaps)
expect("SPIRE_TOGETHER=PERHAPS is no choice; write AUTO, ON or OFF")

# All that is required and missing is named at once, with the packages to install.
configure(FALSE -DREQUIRE_ABSENT=TRUE)
expect("one (libone-dev)" "two (two-tools)" "third_party/install-deps.sh")
file(REMOVE_RECURSE ${SCRATCH})
