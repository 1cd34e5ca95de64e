# Steps of the test: install, build docs/examples against the installed tree, and run each example. Any failing step
# fails the test.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nended with ${code}:\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
if(SANITIZE)
  set(sanitizer -fsanitize=${SANITIZE})
endif()
step(${CMAKE_COMMAND} -S ${SOURCE} -B ${SCRATCH}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${sanitizer} -DCMAKE_C_COMPILER=${C_COMPILER}
  -DCMAKE_C_FLAGS=${sanitizer} -DCMAKE_CUDA_COMPILER=${CUDA_COMPILER})
step(${CMAKE_COMMAND} --build ${SCRATCH}/build)
# They write their runs where they are started.
step(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${SCRATCH}/prefix/${LIBDIR}
  ${CMAKE_CTEST_COMMAND} --test-dir ${SCRATCH}/build --output-on-failure --no-tests=error)
file(REMOVE_RECURSE ${SCRATCH})
