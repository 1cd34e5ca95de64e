// Keys by which a run watches its devices, and by which other programs see it. None changes a
// weight.
#include "engine/config/listen_address.h"
#include "engine/config/schema_parts.h"

namespace spire::inline config::schema_parts {

std::vector<Field> monitor_fields() {
  return {
      {.path = "monitor.every_seconds",
       .slot = [](C& c) -> Slot { return &c.monitor.every_seconds; },
       .help = "time between two readings of the devices' use, memory, heat and clocks for "
               "metrics.jsonl; 0: none",
       .range = at_least(0, 1e6),
       .unit = "seconds",
       .shapes_result = false},
      {.path = "monitor.prometheus",
       .slot = [](C& c) -> Slot { return &c.monitor.prometheus; },
       .help =
           "address at which rank 0 answers Prometheus: HOST:PORT, a PORT of this machine alone "
           "(9400), 0 for any free one, or none",
       .settle = [](C& c) { parse_listen_address(c.monitor.prometheus); },
       .shapes_result = false},
      {.path = "monitor.serve",
       .slot = [](C& c) -> Slot { return &c.monitor.serve; },
       .help = "address at which rank 0 shows the run to browsers, in the same forms; it asks for "
               "no password",
       .settle = [](C& c) { parse_listen_address(c.monitor.serve); },
       .shapes_result = false},
  };
}

}  // namespace spire::inline config::schema_parts
