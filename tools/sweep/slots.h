// The slots of a sweep on given hardware (sweep_slots.h).
#pragma once
#include <vector>

#include "engine/train/placement/rank_hardware.h"
#include "tools/sweep/sweep_slots.h"

namespace spire {

// hardware: of share_out(). See SweepSlots.
std::vector<SweepSlot> make_slots(const SlotRequest& request, const RunConfig& config,
                                  const RankHardware& hardware);

}  // namespace spire
