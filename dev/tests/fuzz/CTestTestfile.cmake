# CMake generated Testfile for 
# Source directory: /work/main/tests/fuzz
# Build directory: /work/main/build/dev/tests/fuzz
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/fuzz/fuzz_config_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_idx_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_checkpoint_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_cifar_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_csv_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_vocabulary_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_tokens_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_data_spec_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_jpeg_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_png_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_hdf5_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_hdf5_file_test[1]_include.cmake")
include("/work/main/build/dev/tests/fuzz/fuzz_layers_test[1]_include.cmake")
