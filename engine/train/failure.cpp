#include "engine/train/failure.h"

#include "engine/base/fail.h"
#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire {
namespace {

// Returns thread and phase for the front of a message; empty where the message names them itself,
// and for errors outside steps.
std::string place_of(const std::exception& error, const PhaseRow& at, bool alone) {
  bool typed = dynamic_cast<const Error*>(&error) != nullptr;
  bool lost = dynamic_cast<const PeerLost*>(&error) != nullptr;
  bool placed =
      dynamic_cast<const LaneError*>(&error) || dynamic_cast<const SymmetricError*>(&error);
  bool outside = at.phase == Phase::start || at.phase == Phase::idle;
  if (placed || (typed && !lost && (alone || outside))) return {};
  return fmt::format("{}, {}: ", at.thread, position_text(at));
}

}  // namespace

Failure agree_on_failure(const std::exception& error, const PhaseRow& at, World& world) {
  if (auto settled = world.watchdog->failure()) return *settled;
  Error known = classify(error);
  Failure mine;
  bool typed = dynamic_cast<const Error*>(&error) != nullptr;
  // An exception of another type counts as a lost rank.
  bool lost = !typed && known.category() == Category::unexpected;
  mine.category = lost ? Category::collective : known.category();
  mine.rank = world.rank();
  mine.consequence = dynamic_cast<const PeerLost*>(&error) != nullptr;
  mine.text = place_of(error, at, world.size() == 1) + known.what();
  // All ranks throw a SymmetricError alike, so it is no rank's own.
  if (dynamic_cast<const SymmetricError*>(&error) != nullptr) {
    mine.rank = -1;
  } else if (world.size() > 1) {
    const RankInfo& self = world.ranks[static_cast<size_t>(world.rank())];
    mine.text = fmt::format("{}, {}", to_string(self), mine.text);
  }
  return world.watchdog->fail(mine);
}

}  // namespace spire
