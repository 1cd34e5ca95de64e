// A sweep: a config trained at each point of a grid over its keys, several runs at a time
// (docs/running.md). This header has the points; slots.h says where their runs train, and
// results.h what came of them. A program starts the runs. Messages name options as `trainer
// sweep` does. Any thread may call all functions.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <spire/load_config.h>
#include <spire/run_config.h>

#include "tools/sweep/slots.h"

namespace spire {

// What the user wrote, as far as it shapes results.
struct SweepRequest {
  std::vector<ConfigText> configs = {};     // the texts of config files
  std::vector<std::string> overrides = {};  // words KEY=VALUE that all runs have
  std::vector<GridAxis> axes = {};          // at least one
};

// Splits words KEY=VALUE into axes (several values) and `overrides`, and adds the axes of the grid
// file (its name may be empty). Reads all files. Throws Error(config).
SweepRequest read_sweep_request(const std::vector<std::string>& configs,
                                const std::vector<std::string>& words,
                                const std::string& grid_file);

struct SweepPoint {
  std::string name;                 // of its folder and log: "02-lr=0.05-depth=8"
  std::vector<std::string> values;  // one for each axis
  ResolvedConfig resolved;          // without devices and output, which a slot and a folder give
  // Settled before the first run starts, so that no slot changes the bits.
  int64_t towers = 1, tower_threads = 1;
};

// Returns the config of the first point, whose devices stand for those of all, as they are no axis.
// Throws Error(config).
RunConfig first_config(const SweepRequest& request);

// Returns the points in the order of the grid. Towers that the config leaves open are as many as
// the devices that it names; tower_threads as many as the smallest slot has cores for. Throws one
// Error(config) for a config that no run could have, and for two points that are the same run.
std::vector<SweepPoint> sweep_points(const SweepRequest& request,
                                     const std::vector<SweepSlot>& slots);

// Throws Error(config) if two points would answer at the same port while runs of several slots are
// under way: monitor.prometheus, monitor.serve.
void refuse_shared_ports(const std::vector<SweepPoint>& points,
                         const std::vector<SweepSlot>& slots);

// Returns in what the results of `here` and `there` must differ: lines such as "optimizer.lr: 0.1
// in the folder, 0.2 now". Empty if they train the same.
std::vector<std::string> sweep_differences(const std::vector<SweepPoint>& there,
                                           const std::vector<SweepPoint>& here);

// Returns the config of a point's run on a slot.
ResolvedConfig sweep_config(const SweepSlot& slot, const SweepPoint& point,
                            const std::string& output);

}  // namespace spire
