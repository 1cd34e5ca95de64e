// The public headers of Spire, all of them.
//
// Start reading at train.h: train() runs a config from its first step to its summary. Errors are
// spire::Error. The library never exits, installs a signal handler or writes the environment.
#pragma once
#include <spire/error.h>         // the one exception type, and the categories of errors
#include <spire/failure.h>       // the failure of a run of several processes
#include <spire/launch.h>        // rank and size of this process, from its launcher
#include <spire/layer_config.h>  // networks spelled out under model.layers
#include <spire/layer_row.h>     // a row of the table of layers
#include <spire/load_config.h>   // a config from YAML files and key=value words
#include <spire/metric.h>        // accuracy, perplexity and the like
#include <spire/observer.h>      // events of a run
#include <spire/phase.h>         // phases of a run's threads
#include <spire/plan_report.h>   // plan and check without training
#include <spire/rank_info.h>     // identity of a rank
#include <spire/run_config.h>    // the config of a run as plain structs
#include <spire/train.h>         // train and evaluate
#include <spire/world.h>         // the processes of a run, joined
