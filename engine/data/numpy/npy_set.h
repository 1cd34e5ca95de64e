// A set of NumPy's arrays: the .npy files of a folder, or the entries of a .npz archive; and which
// of them are inputs and targets.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/numpy/npy_array.h"
#include "engine/data/numpy/zip_file.h"
#include "engine/data/part_names.h"

namespace spire::inline data {

class NpySet {  // not thread-safe; the arrays that it opens are
 public:
  // Throws Error(data) for a damaged archive.
  explicit NpySet(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  bool is_archive() const { return archive_ != nullptr; }
  // Names have no ".npy".
  std::vector<std::string> names() const;  // of an archive, in its order; empty for a folder
  bool has(const std::string& name) const;
  // Throws Error(data), as NpyArray and ZipFile do.
  std::shared_ptr<const NpyArray> open(const std::string& name) const;

 private:
  std::string entry_of(const std::string& name) const;

  std::filesystem::path path_;
  std::unique_ptr<ZipFile> archive_;
};

enum class NpyRole { input, target };

// Returns the name of the input or target of a part; nullopt: the set has none. configured:
// data.npy.<part>.<role>; "auto" is the first that there is of WORD_train, train_WORD (or another
// word for the part, part_names.h) and, for training, WORD alone. WORD: x, images, features, tokens
// or X of an input, and y, labels, values, targets, target_images or masks of a target. Throws
// Error(data) where an array that the config names is missing.
std::optional<std::string> find_array(const NpySet& set, NpyRole role, Part part,
                                      const std::string& configured);

// As find_array(), but throws Error(data), with the names that it looks for, where there is none.
std::string require_array(const NpySet& set, NpyRole role, Part part,
                          const std::string& configured);

}  // namespace spire::inline data
