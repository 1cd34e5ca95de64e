// Gives several files that belong together their names, one after another, so that no reader takes
// new files for a part of old ones: not after an error, a kill or a power cut either.
#pragma once
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/write_file.h"

namespace spire::inline weights {

// Suffix of files that give way to new ones. A kill leaves them; the next write removes them.
inline constexpr std::string_view former_suffix = ".former";

// One of them, the leading file, is what readers open first. It loses its name before any other
// file gets one, and gets its new name last: in between there is no group at all.
class GroupCommit {
 public:
  // With Existing::replace a file at `leading` is renamed to "<leading>.former".
  GroupCommit(std::filesystem::path leading, Existing existing);
  // Unless complete() was called, the new files lose their names to those that had them before.
  ~GroupCommit();
  GroupCommit(const GroupCommit&) = delete;
  GroupCommit& operator=(const GroupCommit&) = delete;

  // Commits the writer of `path`; the leading file comes last. Throws Error(config).
  void commit(AtomicWriter& writer, const std::filesystem::path& path);

  // Removes the files that gave way; returns the new ones, in the order of their commits.
  std::vector<std::filesystem::path> complete();

 private:
  struct Member {
    std::filesystem::path path;
    bool had_former;
  };

  std::filesystem::path leading_;
  bool aside_ = false;  // the old leading file has its second name alone
  std::vector<Member> done_;
  bool complete_ = false;
};

// Removes what killed writes of `path` left in its folder: "<name>.former" and "<name>.tmp" of the
// file, its index and shards of any number (SafetensorsOptions), and of `companion`, if not empty.
// What cannot be removed stays.
void sweep_leftovers(const std::filesystem::path& path, const std::filesystem::path& companion);

}  // namespace spire::inline weights
