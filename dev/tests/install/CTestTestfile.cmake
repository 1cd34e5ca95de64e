# CMake generated Testfile for 
# Source directory: /work/main/tests/install
# Build directory: /work/main/build/dev/tests/install
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
add_test([=[Install.AConsumerBuildsAndRunsAgainstTheInstalledTree]=] "/usr/bin/cmake" "-DBUILD=/work/main/build/dev" "-DSOURCE=/work/main/tests/install/consumer" "-DSCRATCH=/work/main/build/dev/tests/install/scratch" "-DVERSION=0.1.0" "-DGENERATOR=Ninja" "-DCOMPILER=/usr/bin/c++" "-DSANITIZE=" "-P" "/work/main/tests/install/consumer_test.cmake")
set_tests_properties([=[Install.AConsumerBuildsAndRunsAgainstTheInstalledTree]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/install/CMakeLists.txt;2;add_test;/work/main/tests/install/CMakeLists.txt;0;")
add_test([=[Install.DependenciesAreUsedRefusedOrMissedAsChosen]=] "/usr/bin/cmake" "-DSOURCE=/work/main/tests/install/dependencies" "-DSPIRE_CMAKE=/work/main/cmake" "-DGENERATOR=Ninja" "-DSCRATCH=/work/main/build/dev/tests/install/dependencies" "-P" "/work/main/tests/install/dependencies_test.cmake")
set_tests_properties([=[Install.DependenciesAreUsedRefusedOrMissedAsChosen]=] PROPERTIES  _BACKTRACE_TRIPLES "/work/main/tests/install/CMakeLists.txt;11;add_test;/work/main/tests/install/CMakeLists.txt;0;")
add_test([=[Install.TheScriptInstallsWhatConfigureAsksFor]=] "/usr/bin/cmake" "-DROOT=/work/main" "-P" "/work/main/tests/install/packages_test.cmake")
set_tests_properties([=[Install.TheScriptInstallsWhatConfigureAsksFor]=] PROPERTIES  _BACKTRACE_TRIPLES "/work/main/tests/install/CMakeLists.txt;16;add_test;/work/main/tests/install/CMakeLists.txt;0;")
add_test([=[Install.TheBundleRunsFarFromTheBuild]=] "/usr/bin/cmake" "-DBUILD=/work/main/build/dev" "-DVERSION=0.1.0" "-DCUDNN=" "-P" "/work/main/tests/install/bundle_test.cmake")
set_tests_properties([=[Install.TheBundleRunsFarFromTheBuild]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/install/CMakeLists.txt;24;add_test;/work/main/tests/install/CMakeLists.txt;0;")
