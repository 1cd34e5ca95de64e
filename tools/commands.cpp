#include "commands.h"

#include <spire/base/error.h>

#include <algorithm>

namespace spire::tool {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"train", "train a model (the default)", Options::train, run_train},
      {"eval", "evaluate a checkpoint on the test data", Options::eval, run_eval},
      {"predict", "answers of a trained model: classes, images or text", Options::predict,
       run_predict},
      {"plan", "print the memory a run needs, without running", Options::plan, run_plan},
      {"dataset convert", "make an HDF5 file of any dataset, or token shards of text",
       Options::convert, run_dataset_convert},
      {"dataset inspect", "print what a dataset is: columns, classes, files", Options::inspect,
       run_dataset_inspect},
      {"dataset verify", "read every row once, and compare checksums", Options::verify,
       run_dataset_verify},
      {"devices", "list the devices that this machine has; --probe: try its GPUs", Options::devices,
       run_devices},
      {"version", "print the version; --verbose: what it is built from", Options::verbose,
       run_version},
  };
  return table;
}

const Command& find_command(std::string_view name) {
  auto found = std::ranges::find(commands(), name, &Command::name);
  require(found != commands().end(), "no subcommand '{}'", name);
  return *found;
}

}  // namespace spire::tool
