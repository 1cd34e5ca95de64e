// One YAML node as a value of a type, strictly. Not installed: yaml-cpp stays inside this folder.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

namespace spire::inline config {

// The text of a scalar; `expected` is for messages. Only words may be quoted: "5" is a string and
// no number. Throws Error(config) without a place for anything else.
const std::string& scalar(const YAML::Node& node, std::string_view expected, bool may_be_quoted);

// read(node, T): the node as a T. Throws Error(config) without a place.
bool read(const YAML::Node& node, bool);
int64_t read(const YAML::Node& node, int64_t);
uint64_t read(const YAML::Node& node, uint64_t);
double read(const YAML::Node& node, double);
std::string read(const YAML::Node& node, const std::string&);
std::vector<int64_t> read(const YAML::Node& node, const std::vector<int64_t>&);
std::vector<double> read(const YAML::Node& node, const std::vector<double>&);
std::vector<std::string> read(const YAML::Node& node, const std::vector<std::string>&);

// "a list", "a map", "'text'": what the node is, for messages.
std::string describe(const YAML::Node& node);

}  // namespace spire::inline config
