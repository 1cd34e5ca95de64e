# CMake generated Testfile for 
# Source directory: /work/main/tests/emulation
# Build directory: /work/main/build/dev/tests/emulation
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
include("/work/main/build/dev/tests/emulation/emulation_test[1]_include.cmake")
add_test([=[emulation.Trainer.HasOneHashOnAnyGpus]=] "/work/main/tests/emulation/trainer_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer")
set_tests_properties([=[emulation.Trainer.HasOneHashOnAnyGpus]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;34;add_test;/work/main/tests/emulation/CMakeLists.txt;0;")
add_test([=[emulation.Trainer.Trains_linear]=] "/work/main/tests/emulation/models_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer" "linear")
set_tests_properties([=[emulation.Trainer.Trains_linear]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;39;add_test;/work/main/tests/emulation/CMakeLists.txt;44;test_model;/work/main/tests/emulation/CMakeLists.txt;0;")
add_test([=[emulation.Trainer.Trains_mlp]=] "/work/main/tests/emulation/models_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer" "mlp" "model.hidden=[16]" "model.dropout=0.2")
set_tests_properties([=[emulation.Trainer.Trains_mlp]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;39;add_test;/work/main/tests/emulation/CMakeLists.txt;45;test_model;/work/main/tests/emulation/CMakeLists.txt;0;")
add_test([=[emulation.Trainer.Trains_lenet]=] "/work/main/tests/emulation/models_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer" "lenet" "data.synthetic.shape=[28, 28, 1]")
set_tests_properties([=[emulation.Trainer.Trains_lenet]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;39;add_test;/work/main/tests/emulation/CMakeLists.txt;46;test_model;/work/main/tests/emulation/CMakeLists.txt;0;")
add_test([=[emulation.Trainer.Trains_cnn]=] "/work/main/tests/emulation/models_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer" "cnn" "model.channels=[4, 8]" "model.hidden=[16]" "model.normalization=batch_norm" "batch_norm=sync")
set_tests_properties([=[emulation.Trainer.Trains_cnn]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;39;add_test;/work/main/tests/emulation/CMakeLists.txt;47;test_model;/work/main/tests/emulation/CMakeLists.txt;0;")
add_test([=[emulation.Trainer.Trains_resnet]=] "/work/main/tests/emulation/models_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer" "resnet" "model.depth=8" "memory.recompute=blocks")
set_tests_properties([=[emulation.Trainer.Trains_resnet]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;39;add_test;/work/main/tests/emulation/CMakeLists.txt;48;test_model;/work/main/tests/emulation/CMakeLists.txt;0;")
add_test([=[emulation.Trainer.Trains_unet]=] "/work/main/tests/emulation/models_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer" "unet" "model.channels=[4, 8]")
set_tests_properties([=[emulation.Trainer.Trains_unet]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;39;add_test;/work/main/tests/emulation/CMakeLists.txt;49;test_model;/work/main/tests/emulation/CMakeLists.txt;0;")
add_test([=[emulation.Trainer.Trains_autoencoder]=] "/work/main/tests/emulation/models_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer" "autoencoder" "model.channels=[4, 8]" "model.normalization=batch_norm" "optimizer.name=adam")
set_tests_properties([=[emulation.Trainer.Trains_autoencoder]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;39;add_test;/work/main/tests/emulation/CMakeLists.txt;50;test_model;/work/main/tests/emulation/CMakeLists.txt;0;")
add_test([=[emulation.Trainer.Trains_vit]=] "/work/main/tests/emulation/models_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer" "vit" "model.patch=4" "optimizer.name=lamb" "model.blocks=2" "model.width=16" "model.heads=2" "model.dropout=0.1" "memory.recompute=blocks")
set_tests_properties([=[emulation.Trainer.Trains_vit]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;39;add_test;/work/main/tests/emulation/CMakeLists.txt;51;test_model;/work/main/tests/emulation/CMakeLists.txt;0;")
add_test([=[emulation.Trainer.Trains_gpt]=] "/work/main/tests/emulation/models_test.sh" "/work/main/build/dev/tests/emulation/emulated_trainer" "gpt" "optimizer.name=adamw" "optimizer.decay=matrices" "model.blocks=2" "model.width=16" "model.heads=2" "model.dropout=0.1" "memory.recompute=blocks" "data.synthetic.kind=tokens" "data.synthetic.shape=[12]" "data.synthetic.classes=11")
set_tests_properties([=[emulation.Trainer.Trains_gpt]=] PROPERTIES  TIMEOUT "300" _BACKTRACE_TRIPLES "/work/main/tests/emulation/CMakeLists.txt;39;add_test;/work/main/tests/emulation/CMakeLists.txt;52;test_model;/work/main/tests/emulation/CMakeLists.txt;0;")
