// Warns during a run of each sign that a device fails or is too hot, when it first shows.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/observer.h>

namespace spire {

// Each device gets one warning for each error code of the driver (XID), each time that its memory
// has had more errors than ECC could correct, the first time that ECC has corrected one, and for
// each cause that lowers its clock, but the power limit, which is normal. What happened before the
// first reading is not the run's.
class HealthWatch {
 public:
  // names: of the run's devices, in messages; an empty one is a GPU that an earlier name stands
  // for.
  explicit HealthWatch(const std::vector<std::string>& names);

  // reports: StepReport::devices. Returns the new warnings; allocates only for these.
  std::vector<std::string> add(std::span<const DeviceReport> reports);

 private:
  struct Device {
    std::string name;
    std::set<int> xids = {};
    std::optional<uint64_t> uncorrected = {}, corrected = {};  // at the last reading; at the first
    bool told_corrected = false;
    std::vector<std::string_view> causes = {};  // ThrottleWords::text
  };
  static void look(Device& device, const DeviceReport& report, std::vector<std::string>& warnings);

  std::vector<Device> devices_;
};

}  // namespace spire
