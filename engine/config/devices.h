// Forms of the device names of a config, beside those of <spire/device_words.h>.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <spire/device_words.h>

namespace spire {

// Returns advice if `devices` has the old form {"cpu:N"}, which means N CPU devices; else "".
std::string devices_note(const std::vector<std::string>& devices);

// Forms of a GPU's name but cuda:N: "GPU-1b2c3d4e-..." or "MIG-..." (a UUID, or its beginning), and
// "0000:3b:00.0" (PCI domain, bus, device, function; the domain may be left out).
bool is_gpu_uuid(std::string_view word);
bool is_pci_bus_id(std::string_view word);

// Throws Error(config) unless `device` is auto, cpu or the name of a single device.
void check_parameter_device(const std::string& device);

}  // namespace spire
