// Finds which process holds a lock on a file. It reads the system's list of locks (/proc/locks) and
// takes no lock itself.
#pragma once
#include <filesystem>
#include <optional>

namespace spire {

// Returns the PID of a process that holds an flock(2) lock on an open file. Returns none if no
// process that we can see holds one: processes in other PID namespaces and, on NFS, on other hosts
// are not listed, and nothing is listed without /proc. proc: another folder, for tests.
std::optional<int> flock_holder(int descriptor, const std::filesystem::path& proc = "/proc");

}  // namespace spire
