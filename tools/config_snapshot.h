// A config as this process read it, for the processes that it starts: files may change meanwhile,
// and a pipe can be read only once. Keys that nobody gave are
// left out there, too.
#pragma once
#include <string>

#include <spire/load_config.h>

namespace spire::tool {

class ConfigSnapshot {
 public:
  // What paths of pinned configs begin with. A place in one means nothing to a person.
  static constexpr const char* folder = "/proc/self/fd/";

  explicit ConfigSnapshot(const ResolvedConfig& resolved);
  ~ConfigSnapshot();
  ConfigSnapshot(const ConfigSnapshot&) = delete;
  ConfigSnapshot& operator=(const ConfigSnapshot&) = delete;

  // For children while this lives: a file in memory, inherited by them.
  std::string path() const;

 private:
  int descriptor_ = -1;
};

}  // namespace spire::tool
