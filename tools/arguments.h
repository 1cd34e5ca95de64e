// Command line of `trainer`, parsed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spire::tool {

// Options of `trainer predict`.
struct PredictArguments {
  std::string checkpoint = {};  // a name for CheckpointLocator
  std::string device = "auto";  // a word of the config's `devices`
  int64_t batch = 64;           // samples per pass
  std::string format = "csv";   // csv | json
  std::string to = {};          // file or, for images, folder; empty: stdout, ./predictions
  std::vector<std::string> inputs = {};      // files and folders; empty: the run's test data
  std::optional<std::string> on_error = {};  // stop | skip, of inputs
  int64_t count = 0;                         // samples; 0: all
  std::optional<std::string> prompt = {}, prompt_file = {};  // text to continue
  int64_t tokens = 256;                                      // to generate
  double temperature = 0.8;
  int64_t top_k = 0;  // 0: sample from all tokens
};

// Options of `trainer dataset convert` and `inspect`.
struct DatasetArguments {
  std::string to = {};          // convert: file or folder
  std::string format = "auto";  // convert: auto | hdf5 | tokens; inspect: auto (a table) | json
  std::string order = "auto";   // convert: auto | source | shuffled
  int64_t shard_tokens = 100'000'000;
};

struct Arguments {
  std::string command = {};  // "train", "eval", ...; empty: print `help`
  std::string help = {};

  std::vector<std::string> configs = {};    // files, later ones win
  std::vector<std::string> overrides = {};  // key.path=value, --output and --seed among them
  bool help_config = false;
  bool print_config = false;
  bool check = false;
  bool deep = false;  // with check: read every sample

  std::optional<std::string> resume = {};  // a name for CheckpointLocator
  bool overwrite = false;
  int64_t dry_run = 0;                       // steps; 0: a real run
  std::optional<int64_t> processes = {};     // ranks to start from this process
  std::optional<int64_t> max_restarts = {};  // restarts of the ranks, at most
  bool quiet = false;
  std::string log_level = "info";  // info | warning | error

  bool verbose = false;                 // version
  bool probe = false;                   // devices
  std::optional<std::string> gpu = {};  // plan: name of the GPU to estimate for

  PredictArguments predict = {};
  DatasetArguments dataset = {};
};

// Target of the options while CLI11 parses, before the words become Arguments.
struct ParsedWords {
  Arguments arguments;
  std::vector<std::string> set;  // --set
  std::string output, seed;
};

// Parses the words after the program's name. Throws Error(config) for an unknown word, with the
// nearest option or subcommand.
Arguments parse_arguments(std::vector<std::string> words);

}  // namespace spire::tool
