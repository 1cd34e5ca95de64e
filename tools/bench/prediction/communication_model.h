// Time of the exchanges of a training step between R members (GPUs, or the CPUs of processes;
// engine/update/exchange.h), by the alpha-beta model: alpha seconds to start a message,
// beta seconds a byte, gamma seconds to add a byte. Sources of the formulas:
//   [1] Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
//       MPICH", 2005  [2] Patarasuk, Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters
//       of Workstations", 2009  [3] Sanders, Speck, Träff, "Two-tree algorithms for full bandwidth
//       broadcast, reduction and scan", 2009
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <spire/run_config.h>

#include "engine/update/tree.h"
#include "tools/bench/limits/device_team.h"

namespace spire {

// A connection between devices or processes: a message of B bytes takes alpha + beta B seconds
// (Hockney, "The communication challenge for MPP: Intel Paragon and Meiko CS-2", 1994).
struct Link {
  std::string name;
  double alpha = 0;  // seconds from the start of a message to its first byte
  double beta = 0;   // seconds a byte, each way
};

// Parses --link: "nvlink", "pcie", "ib:400Gb" (InfiniBand of 400 Gbit/s a device), "eth:100Gb", or
// "alpha,beta" in seconds and seconds a byte ("2e-6,1e-10"). docs/benchmarks.md has the figures and
// their sources. Throws Error(config), which lists what is allowed.
Link parse_link(std::string_view text);

// Measures the link between processes of this host; two threads joined by a socket stand for the
// processes. Exchanges of 8 bytes give alpha, exchanges of `bytes` in both directions beta.
// Predictions for this link are compared with runs on this host.
Link measure_local_link(int64_t bytes = int64_t{8} << 20, const Repeats& repeats = {});

// Returns the time in which each member sends 1/R of the buffer to every other member. So long take
// Spire's reduce-scatter without its additions, its all-gather, and a gather to or a scatter from
// one member.
// Starts of messages follow each other: (R - 1) alpha + (R - 1) / R B beta. [1]
double spread_seconds(const Link& link, int64_t members, double bytes);

// All-reduce over a ring: 2 (R - 1) alpha + 2 (R - 1) / R B beta + (R - 1) / R B gamma. [1, 2]
double ring_seconds(const Link& link, double gamma, int64_t members, double bytes);

// All-reduce over a pair of pipelined trees: 2 ceil(log2 R) alpha + 2 B beta + B gamma. [3]
double tree_seconds(const Link& link, double gamma, int64_t members, double bytes);

struct CommunicationModel {
  Link link;
  double gamma = 0;  // seconds to add a byte to another
  RunConfig::Strategy strategy = RunConfig::Strategy::parameter_device;
  Reduction reduction = Reduction::invariant;
  int64_t devices_per_member = 1;  // of CPUs, which read each other's memory
  bool overlaps = true;            // false: exchanges take the cores that backward runs on
};

// Returns the time that the exchange thread takes to reduce a bucket of gradients, while backward
// goes on.
// invariant: reduce-scatter by messages, sum of the own shard, then
//   parameter_device: gather to one member    mirrored: all-gather    sharded: nothing
// native: the quicker of ring and tree, whatever the strategy.
double bucket_seconds(const CommunicationModel& model, int64_t members, double bytes);

// Returns the time to send new weights to all members after the update; no other work hides it:
//   parameter_device: R - 1 parts to one member each, which all-gather them    mirrored: nothing
//   sharded: all-gather
double publish_seconds(const CommunicationModel& model, int64_t members, double bytes);

// Returns the time in which a lane adds up its share of a bucket over the D devices of its member,
// (D - 1) / D B gamma. It is part of the lane's backward.
double share_seconds(const CommunicationModel& model, double bytes);

// Returns the time to copy weights to the other devices of a member after the update (mirrored:
// 0). The copies run one after another, because all read the same memory.
double copy_seconds(const CommunicationModel& model, double bytes);

}  // namespace spire
