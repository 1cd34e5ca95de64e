// Invalid configs, with fragments of the messages that they must give.
#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace spire {

using Strings = std::vector<std::string>;

struct InvalidConfigCase {
  std::string name;
  std::string yaml;
  Strings overrides;
  Strings fragments;

  friend std::ostream& operator<<(std::ostream& out, const InvalidConfigCase& invalid) {
    return out << invalid.yaml.substr(0, 100);
  }
};

const std::vector<InvalidConfigCase>& unknown_keys();
const std::vector<InvalidConfigCase>& wrong_types();
const std::vector<InvalidConfigCase>& bad_values();
const std::vector<InvalidConfigCase>& bad_yaml();

}  // namespace spire
