// The devices of this machine.
#include <spire/devices.h>

#include "engine/c_api/status.h"

struct spire_devices {
  std::vector<spire::ListedDevice> list;
};

namespace spire {
namespace {

int64_t bytes_or_unknown(const std::optional<uint64_t>& bytes) {
  return bytes ? static_cast<int64_t>(*bytes) : -1;
}

}  // namespace
}  // namespace spire

using spire::bytes_or_unknown;
spire_status spire_devices_create(spire_devices** devices) {
  return spire::call(__func__, {GIVEN(devices)},
                     [&] { *devices = new spire_devices{spire::list_devices()}; });
}

spire_status spire_devices_count(const spire_devices* devices, size_t* count) {
  return spire::call(__func__, {GIVEN(devices), GIVEN(count)},
                     [&] { *count = devices->list.size(); });
}

spire_status spire_devices_get(const spire_devices* devices, size_t index, spire_device* device) {
  return spire::call(__func__, {GIVEN(devices), GIVEN(device)}, [&] {
    spire::check_index(index, devices->list.size(), "spire_devices_get", "device");
    const spire::ListedDevice& found = devices->list[index];
    *device = {found.id.c_str(),
               found.host_number,
               found.name.c_str(),
               found.uuid.c_str(),
               found.pci_bus_id.c_str(),
               bytes_or_unknown(found.memory_total),
               bytes_or_unknown(found.memory_used),
               bytes_or_unknown(found.memory_free),
               found.utilization.value_or(-1),
               found.problem.c_str()};
  });
}

void spire_devices_destroy(spire_devices* devices) {
  delete devices;
}
