// Parses the words that name devices in a config; the machine need not have them.
#pragma once
#include <string>
#include <vector>

namespace spire::inline config {

// Expands the value of `devices` to {"auto"}, {"cuda"} or a list of single devices: "2xcuda" to
// {"cuda:0", "cuda:1"}, "cpu" to {"cpu:0"}. Idempotent. Throws Error(config) for unknown words and
// for a CPU device that is named twice.
std::vector<std::string> expand_devices(const std::vector<std::string>& devices);

// Suggests a replacement of the old form {"cpu:N"}, which stands for N devices; empty for others.
std::string devices_note(const std::vector<std::string>& devices);

void check_parameter_device(const std::string& device);  // Error(config): not auto or one device

}  // namespace spire::inline config
