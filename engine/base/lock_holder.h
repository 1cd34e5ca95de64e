// Who holds a lock on a file, by the system's list of locks: looking there disturbs nobody who
// wants the lock.
#pragma once
#include <filesystem>
#include <optional>

namespace spire {

// Returns the PID of the process that has locked an open file by flock(2). None if nobody has whom
// this process can see: processes in other PID namespaces and, on NFS, on other hosts are not
// listed, and a system without /proc lists none. proc: tests have a folder of their own.
std::optional<int> flock_holder(int descriptor, const std::filesystem::path& proc = "/proc");

}  // namespace spire
