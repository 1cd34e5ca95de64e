# CMake generated Testfile for 
# Source directory: /work/main/tests/process
# Build directory: /work/main/build/dev/tests/process
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/process/process_launch_test[1]_include.cmake")
include("/work/main/build/dev/tests/process/process_group_test[1]_include.cmake")
include("/work/main/build/dev/tests/process/process_rendezvous_test[1]_include.cmake")
include("/work/main/build/dev/tests/process/watch_test[1]_include.cmake")
add_test([=[Mpi.TwoRanks]=] "/work/main/tests/process/under_mpirun.sh" "/usr/bin/mpiexec" "2" "/work/main/build/dev/tests/process/process_mpi_test")
set_tests_properties([=[Mpi.TwoRanks]=] PROPERTIES  ENVIRONMENT "TSAN_OPTIONS=suppressions=/work/main/tests/tsan.supp" PROCESSORS "2" SKIP_RETURN_CODE "77" TIMEOUT "120" _BACKTRACE_TRIPLES "/work/main/tests/process/CMakeLists.txt;7;add_test;/work/main/tests/process/CMakeLists.txt;20;spire_mpi_test;/work/main/tests/process/CMakeLists.txt;0;")
add_test([=[Mpi.ThreeRanks]=] "/work/main/tests/process/under_mpirun.sh" "/usr/bin/mpiexec" "3" "/work/main/build/dev/tests/process/process_mpi_test")
set_tests_properties([=[Mpi.ThreeRanks]=] PROPERTIES  ENVIRONMENT "TSAN_OPTIONS=suppressions=/work/main/tests/tsan.supp" PROCESSORS "3" SKIP_RETURN_CODE "77" TIMEOUT "120" _BACKTRACE_TRIPLES "/work/main/tests/process/CMakeLists.txt;7;add_test;/work/main/tests/process/CMakeLists.txt;21;spire_mpi_test;/work/main/tests/process/CMakeLists.txt;0;")
add_test([=[Mpi.AFailureReleasesWhoWaits]=] "/work/main/tests/process/under_mpirun.sh" "/usr/bin/mpiexec" "2" "/work/main/build/dev/tests/process/process_mpi_test" "--release")
set_tests_properties([=[Mpi.AFailureReleasesWhoWaits]=] PROPERTIES  ENVIRONMENT "TSAN_OPTIONS=suppressions=/work/main/tests/tsan.supp" PASS_REGULAR_EXPRESSION "rank 0 was released: interrupted.*; cause: .*rank 1 has no more data" PROCESSORS "2" SKIP_RETURN_CODE "77" TIMEOUT "120" _BACKTRACE_TRIPLES "/work/main/tests/process/CMakeLists.txt;7;add_test;/work/main/tests/process/CMakeLists.txt;23;spire_mpi_test;/work/main/tests/process/CMakeLists.txt;0;")
