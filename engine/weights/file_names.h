// The names of a file's tensors after init.map has renamed them.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/weights/files/weight_file.h"

namespace spire::inline weights {

class FileNames {
 public:
  // map: "theirs:ours". `theirs` is a whole name, a prefix that ends with a dot, or has one '*',
  // whose text takes the place of the '*' of `ours`. The first that fits a name renames it. Throws
  // Error(config) for an entry without a colon or that fits no name, and for two tensors of one
  // name.
  FileNames(const WeightFile& file, const std::vector<std::string>& map);

  std::optional<size_t> find(const std::string& name) const;
  const std::string& name_of(size_t tensor) const { return names_.at(tensor); }
  const std::map<std::string, size_t>& all() const { return tensors_; }  // name -> tensor

 private:
  std::map<std::string, size_t> tensors_;
  std::vector<std::string> names_;  // of each tensor
};

// Throws Error(config) if `entry` is no entry of init.map.
void check_map_entry(const std::string& entry);

}  // namespace spire::inline weights
