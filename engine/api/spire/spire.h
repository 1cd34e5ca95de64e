// All public C++ headers of Spire; <spire/c.h> is its C API.
//
// Start reading at train.h: train() runs a config from its first step to its summary. Errors are
// spire::Error. The library never exits the process, installs a signal handler or changes the
// environment, except in trainer_main(), which is the whole program.
#pragma once
#if defined(__cplusplus) && __cplusplus < 202002L
#error "Spire's headers need C++20 (g++ -std=c++20)"
#endif
#include <spire/checkpoint.h>  // finds the checkpoint that a user names
#include <spire/dataset.h>     // columns of samples, the interface of datasets, datasets in memory
#include <spire/dataset_tools.h>   // conversion and checks of datasets
#include <spire/devices.h>         // devices of this machine as they are now
#include <spire/dlpack.h>          // arrays of other libraries
#include <spire/error.h>           // the exception type, and the categories of errors
#include <spire/export.h>          // what the shared library exports
#include <spire/export_model.h>    // ONNX, safetensors, npz
#include <spire/graph.h>           // models as graphs
#include <spire/inference.h>       // outputs on any thread, also while a model trains
#include <spire/kernel.h>          // kernels of own ops
#include <spire/layer_config.h>    // layers listed under model.layers
#include <spire/layers.h>          // layer functions
#include <spire/load_config.h>     // configs as text: reads and writes them
#include <spire/metric.h>          // accuracy, perplexity and the like
#include <spire/model.h>           // a model that the calling program defines
#include <spire/observer.h>        // events of a run; trainer's console, files and pages
#include <spire/op.h>              // ops and values of their options
#include <spire/optimizer.h>       // optimizers of a program
#include <spire/packing.h>         // layouts in which kernels read parameters
#include <spire/plan.h>            // memory and layers of a run, without training
#include <spire/random_stream.h>   // counter-based random numbers
#include <spire/run_config.h>      // the config of a run as plain structs
#include <spire/tensor.h>          // element types, shapes and names of devices
#include <spire/text_generator.h>  // text after a prompt
#include <spire/train.h>           // train and evaluate
#include <spire/trained_model.h>   // outputs of a trained model, and its inputs
#include <spire/trainer.h>         // step by step
#include <spire/trainer_main.h>    // the program `trainer` as a function
#include <spire/world.h>           // the processes of a run
