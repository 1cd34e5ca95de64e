// The words that name devices in a config. Which of them this machine has is not asked here.
#pragma once
#include <string>
#include <vector>

namespace spire::inline config {

// Brings the value of `devices` to its plain form: {"auto"}, {"cuda"}, or a list of single devices
// ({"cpu:0", "cpu:1"}, {"cuda:3"}). "cpu:1" and "cuda:1" name a device; "2xcpu" and "2xcuda" are
// the first two of a kind: {"cuda:0", "cuda:1"}; "cpu" is one. Applying it twice changes nothing.
// An old form that is kept: "cpu:N" alone, in no list, is N devices (devices_note tells so).
// Throws Error(config): unknown words, one CPU device named twice.
std::vector<std::string> expand_devices(const std::vector<std::string>& devices);

// What to write in place of the old form "cpu:N"; empty for all others.
std::string devices_note(const std::vector<std::string>& devices);

// auto, cpu, cpu:N or cuda:N; throws Error(config) otherwise.
void check_parameter_device(const std::string& device);

}  // namespace spire::inline config
