// Names of a run's devices that tell logical devices of one GPU apart.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <spire/observer.h>

namespace spire {

// Gives each device a name that no other device of its process has: "cuda:0", then "cuda:0#2" for
// the second logical device of that GPU. Ask in the order of the run's devices.
class DeviceNames {
 public:
  std::string next(int rank, const std::string& device);

 private:
  std::map<std::pair<int, std::string>, int> counts_;
};

// Returns the name of each device of the run.
std::vector<std::string> unique_device_names(const StartInfo& start);

}  // namespace spire
