// Broken configs with fragments of the messages that they must give.
#pragma once
#include <ostream>
#include <string>
#include <vector>

namespace spire {

using Strings = std::vector<std::string>;

struct Broken {
  std::string name;
  std::string yaml;
  Strings overrides;
  Strings fragments;

  friend std::ostream& operator<<(std::ostream& out, const Broken& broken) {
    return out << broken.yaml.substr(0, 100);
  }
};

const std::vector<Broken>& unknown_keys();
const std::vector<Broken>& wrong_types();
const std::vector<Broken>& bad_values();
const std::vector<Broken>& bad_yaml();

}  // namespace spire
