// The slots of a sweep on given hardware (<spire/commands/sweep_slots.h>).
#pragma once
#include <vector>

#include <spire/commands/sweep_slots.h>

#include "engine/train/placement/rank_hardware.h"

namespace spire {

// hardware: of share_out(). See SweepSlots.
std::vector<SweepSlot> make_slots(const SlotRequest& request, const RunConfig& config,
                                  const RankHardware& hardware);

}  // namespace spire
