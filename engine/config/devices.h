// Parses the words that name devices in a config, without a look at the machine.
#pragma once
#include <string>
#include <vector>

namespace spire::inline config {

// Expands the value of `devices` to {"auto"}, {"cuda"}, or a list of single devices ({"cpu:0",
// "cpu:1"}, {"cuda:3"}). "cpu:1" and "cuda:1" name one device; "2xcpu" and "2xcuda" are the first
// two of a kind: {"cuda:0", "cuda:1"}; "cpu" is one. For compatibility "cpu:N" alone, in no list,
// is N devices (see devices_note). Idempotent. Throws Error(config) for unknown words and for a CPU
// device that is named twice.
std::vector<std::string> expand_devices(const std::vector<std::string>& devices);

// Suggests a replacement of the old form "cpu:N"; empty for all others.
std::string devices_note(const std::vector<std::string>& devices);

// Throws Error(config) for a word other than auto, cpu, cpu:N or cuda:N.
void check_parameter_device(const std::string& device);

}  // namespace spire::inline config
