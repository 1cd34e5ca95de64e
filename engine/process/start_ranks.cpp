#include <spire/error.h>
#include <spire/world.h>

#include "engine/process/rendezvous/handshake.h"
#include "engine/process/socket.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire {

LocalRanks::LocalRanks(int size) : size_(size) {
  if (size < 1) fail(Category::config, "processes: {}; a run has at least 1", size);
  port_ = std::make_unique<ReservedPort>();
  secret_ = random_secret();
}

LocalRanks::~LocalRanks() = default;
LocalRanks::LocalRanks(LocalRanks&&) noexcept = default;
LocalRanks& LocalRanks::operator=(LocalRanks&&) noexcept = default;

std::vector<std::pair<std::string, std::string>> LocalRanks::variables(int rank) const {
  std::string own = std::to_string(rank), size = std::to_string(size_);
  return {{"RANK", own},
          {"LOCAL_RANK", own},
          {"WORLD_SIZE", size},
          {"LOCAL_WORLD_SIZE", size},
          {"MASTER_ADDR", loopback_address},
          {"MASTER_PORT", std::to_string(port_->number())},
          {"SPIRE_SECRET", secret_}};
}

std::optional<Failure> failure_of(const World& world) {
  return world.watchdog ? world.watchdog->failure() : std::nullopt;
}

}  // namespace spire
