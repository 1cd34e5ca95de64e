// Writes a config for data: model, sizes, batch and learning rate that follow from it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace spire {

// Recognizes the format of the data by the names of its files, opens it, and returns a config as
// YAML with the reasons as comments. data: a file or a folder. model: a name of model_names(), or
// auto. target: column of a table, by name or number; empty: the last one. words: keys that say
// how the data is read, as on a command line (data.csv.decimal=comma); they are in the config.
// Throws Error(config) for data whose format is not recognized and for other keys, and what the
// dataset throws, of a table with its columns.
std::string draft_config(const std::filesystem::path& data, const std::string& model = "auto",
                         const std::string& target = "",
                         const std::vector<std::string>& words = {});

}  // namespace spire
