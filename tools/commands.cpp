#include "tools/commands.h"

#include <algorithm>

#include <spire/error.h>

namespace spire::tool {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"train", "train a model (the default)", Options::train, run_train},
      {"eval", "evaluate a checkpoint on the test data", Options::eval, run_eval},
      {"predict", "predict with a trained model: classes, values, images or text", Options::predict,
       run_predict},
      {"plan", "print the memory a run needs, without running", Options::plan, run_plan},
      {"dataset convert", "convert a dataset to an HDF5 file, or text to token shards",
       Options::convert, run_dataset_convert},
      {"dataset inspect", "describe a dataset: columns, classes, files", Options::inspect,
       run_dataset_inspect},
      {"dataset verify", "read every row once, and compare checksums", Options::verify,
       run_dataset_verify},
      {"devices", "list the devices that this machine has; --probe: try its GPUs", Options::devices,
       run_devices},
      {"version", "print the version; --verbose: also of the libraries it uses", Options::verbose,
       run_version},
  };
  return table;
}

const Command& find_command(std::string_view name) {
  auto found = std::ranges::find(commands(), name, &Command::name);
  require(found != commands().end(), "there is no subcommand '{}'", name);
  return *found;
}

}  // namespace spire::tool
