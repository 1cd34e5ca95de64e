// What a sweep consists of: a config, the axes of its grid, and the run at each point of it.
#pragma once
#include <string>
#include <vector>

#include <spire/load_config.h>

#include "engine/config/grid.h"
#include "tools/sweep/slots.h"

namespace spire::tool {

// What the user wrote, as far as it shapes results.
struct SweepRequest {
  std::vector<ConfigText> configs = {};     // the texts of --config
  std::vector<std::string> overrides = {};  // words KEY=VALUE that all runs have
  std::vector<GridAxis> axes = {};          // at least one
};

struct SweepPoint {
  std::string name;                 // of its folder and log: "02-lr=0.05-depth=8"
  std::vector<std::string> values;  // one for each axis
  ResolvedConfig resolved;          // without devices and output, which a slot and a folder give
  // Settled before the first run starts, so that no slot changes the bits.
  int64_t towers = 1, tower_threads = 1;
};

// Splits the words of the command line into axes and `overrides`, and adds the axes of the grid
// file (its name may be empty). Reads all files. Throws Error(config).
SweepRequest read_request(const std::vector<std::string>& configs,
                          const std::vector<std::string>& words, const std::string& grid_file);

// Returns the config of a point, and the words KEY=VALUE that set it apart. Throws Error(config).
struct PointConfig {
  ResolvedConfig resolved;
  std::vector<std::string> words;
};
PointConfig point_config(const SweepRequest& request, size_t index);

// Returns the points in the order of the grid. Towers that the config leaves open are as many as
// the devices that it names; tower_threads as many as the smallest slot has cores for. Throws one
// Error(config) for a config that no run could have, and for two points that are the same run.
std::vector<SweepPoint> make_points(const SweepRequest& request, const std::vector<Slot>& slots);

// Throws Error(config) if two points would answer at the same port while runs of several slots are
// under way: monitor.prometheus, monitor.serve.
void refuse_shared_ports(const std::vector<SweepPoint>& points, const std::vector<Slot>& slots);

// Returns in what the results of `here` and `there` must differ: lines such as "optimizer.lr: 0.1
// in the folder, 0.2 now". Empty if they train the same.
std::vector<std::string> differences(const std::vector<SweepPoint>& there,
                                     const std::vector<SweepPoint>& here);

}  // namespace spire::tool
