// PCI addresses in one form, so that those of CUDA, NVML, sysfs and people can be compared.
#pragma once
#include <string>
#include <string_view>

namespace spire {

// Returns "0000:3b:00.0" for "0000:3B:00.0" (CUDA), "00000000:3B:00.0" (NVML, nvidia-smi),
// "3b:00.0" (lspci) and "3b:00": domain, bus, device and function in lower case, as sysfs names
// them. The domain has four digits, or more if it is larger. Returns "" for any other text.
std::string normal_pci_bus_id(std::string_view text);

}  // namespace spire
