// The command line of `trainer` as a struct.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spire::tool {

// Of `trainer predict`.
struct PredictArguments {
  std::string checkpoint = {};  // as CheckpointLocator has it
  std::string device = "auto";  // as the config's `devices`
  int64_t batch = 64;           // samples computed at a time
  std::string format = "csv";   // csv | json
  std::string to = {};          // file or, for images, folder; empty: stdout, ./predictions
  std::vector<std::string> inputs = {};      // files and folders; empty: the run's test data
  std::optional<std::string> on_error = {};  // stop | skip, of inputs
  int64_t count = 0;                         // so many samples; 0: all
  std::optional<std::string> prompt = {}, prompt_file = {};  // what generated text goes on from
  int64_t tokens = 256;                                      // to generate
  double temperature = 0.8;
  int64_t top_k = 0;  // 0: all tokens may follow
};

// Of `trainer dataset convert` and `inspect`.
struct DatasetArguments {
  std::string to = {};          // convert: file or folder
  std::string format = "auto";  // convert: auto | hdf5 | tokens; inspect: auto (a table) | json
  std::string order = "auto";   // convert: auto | source | shuffled
  int64_t shard_tokens = 100'000'000;
};

struct Arguments {
  std::string command = {};  // "train", "eval", ...; empty: only `help` is to be printed
  std::string help = {};

  std::vector<std::string> configs = {};    // files, later ones win
  std::vector<std::string> overrides = {};  // key.path=value, --output and --seed among them
  bool help_config = false;
  bool print_config = false;
  bool check = false;
  bool deep = false;  // with check: every sample is read

  std::optional<std::string> resume = {};  // as CheckpointLocator has it
  bool overwrite = false;
  int64_t dry_run = 0;                       // steps; 0: a real run
  std::optional<int64_t> processes = {};     // this process starts so many ranks
  std::optional<int64_t> max_restarts = {};  // and starts them again so often
  bool quiet = false;
  std::string log_level = "info";  // info | warning | error

  bool verbose = false;                 // version
  bool probe = false;                   // devices
  std::optional<std::string> gpu = {};  // plan: the described GPU of an estimate

  PredictArguments predict = {};
  DatasetArguments dataset = {};
};

// Throws Error(config) for what cannot be understood, with the nearest option or subcommand.
Arguments parse_arguments(std::vector<std::string> words);

}  // namespace spire::tool
