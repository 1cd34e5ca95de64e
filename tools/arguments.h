// The command line of `trainer` as a struct.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spire::tool {

struct Arguments {
  std::string command = {};  // "train", "eval", ...; empty: only `help` is to be printed
  std::string help = {};

  std::vector<std::string> configs = {};    // files, later ones win
  std::vector<std::string> overrides = {};  // key.path=value, --output and --seed among them
  bool help_config = false;
  bool print_config = false;
  bool check = false;

  std::optional<std::string> resume = {};  // "auto" or a checkpoint's path
  bool overwrite = false;
  int64_t dry_run = 0;  // steps; 0: a real run
  bool quiet = false;
  std::string log_level = "info";  // info | warning | error

  bool verbose = false;  // version
};

// Throws Error(config) for what cannot be understood, with the nearest option or subcommand.
Arguments parse_arguments(std::vector<std::string> words);

}  // namespace spire::tool
