// A sweep: a config trained at each point of a grid over its keys, several runs at a time
// (docs/running.md). This header has the points, slots.h the devices on which their runs train,
// runs.h starts the runs, and results.h has what came of them. Messages name options as `trainer
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

// Returns the config of the first point. All points have its `devices`, which cannot be an axis.
// Throws Error(config).
RunConfig first_config(const SweepRequest& request);

// Returns the points in the order of the grid. If the config does not set towers, there are as many
// as it names devices; if it does not set tower_threads, the towers divide the cores of the
// smallest slot (one thread on a GPU). Throws Error(config) for a config that no run could have,
// for two points that are the same run, and for too many points.
std::vector<SweepPoint> sweep_points(const SweepRequest& request,
                                     const std::vector<SweepSlot>& slots);

// Throws Error(config) if two points have the same port in monitor.prometheus or monitor.serve, and
// there are several slots, so that their runs may overlap.
void refuse_shared_ports(const std::vector<SweepPoint>& points,
                         const std::vector<SweepSlot>& slots);

// Returns the differences between the points recorded in the folder (`there`) and those of now
// (`here`) that change results: lines such as "optimizer.lr: 0.1 in the folder, 0.2 now". Empty if
// they train the same.
std::vector<std::string> sweep_differences(const std::vector<SweepPoint>& there,
                                           const std::vector<SweepPoint>& here);

// Returns the config of a point's run on a slot.
ResolvedConfig sweep_config(const SweepSlot& slot, const SweepPoint& point,
                            const std::string& output);

}  // namespace spire
