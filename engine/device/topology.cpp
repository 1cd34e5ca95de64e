#include "engine/device/topology.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "engine/base/thread.h"

namespace spire::inline device {

int CoreLimits::quota_threads() const {
  return std::max(1, static_cast<int>(std::ceil(std::min(quota, 1e6))));
}

int read_omp_threads(const std::string& text) {
  std::istringstream words(text);
  int threads = 0;
  return (words >> threads) && threads > 0 ? threads : 0;
}

Topology discover_topology() {
  Topology topology;
  topology.online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  topology.cores = allowed_cores();
  topology.limits.quota = cgroup_quota();
  if (const char* threads = std::getenv("OMP_NUM_THREADS"))
    topology.limits.omp_threads = read_omp_threads(threads);
  return topology;
}

std::vector<int> read_core_list(const std::string& text) {
  std::vector<int> cores;
  std::istringstream list(text);
  for (std::string range; std::getline(list, range, ',');) {
    std::istringstream words(range);
    int first = 0, last = 0;
    char dash = 0;
    if (!(words >> first)) return {};
    if (!(words >> dash >> last)) last = first;
    if (first < 0 || last < first || last > 1 << 20) return {};
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

// CUDA writes the address in capitals, the system's folders are in small letters.
std::vector<int> cores_near(const std::string& pci_bus_id, const std::filesystem::path& root) {
  std::string address = pci_bus_id, list;
  for (char& c : address) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::ifstream file(root / "sys/bus/pci/devices" / address / "local_cpulist");
  return !address.empty() && std::getline(file, list) ? read_core_list(list) : std::vector<int>{};
}

std::vector<int> prefer_cores(const std::vector<int>& cores, const std::vector<int>& wanted) {
  std::vector<int> both;
  std::copy_if(cores.begin(), cores.end(), std::back_inserter(both), [&](int core) {
    return std::find(wanted.begin(), wanted.end(), core) != wanted.end();
  });
  return both.empty() ? cores : both;
}

std::vector<int> cores_of_device(const std::vector<int>& cores, int index, int count) {
  int total = static_cast<int>(cores.size());
  if (count >= total) return {cores[static_cast<size_t>(index % total)]};
  int begin = index * (total / count) + std::min(index, total % count);
  int size = total / count + (index < total % count ? 1 : 0);
  return {cores.begin() + begin, cores.begin() + begin + size};
}

}  // namespace spire::inline device
