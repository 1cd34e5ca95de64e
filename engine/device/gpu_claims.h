// Claims on the GPUs of a host, by which runs keep apart. A claim is a lock (flock(2)) on a file of
// the GPU, in a folder that all users of the host share; it ends with the process. Containers that
// do not share the folder do not see each other's claims.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace spire {

// Environment variable: the PID of a process, such as a sweep, that claims GPUs for the processes
// that it starts. These treat its claims as their own.
inline constexpr const char* claim_holder = "SPIRE_CLAIM_HOLDER";

// Another process that has claimed a GPU.
struct ClaimHolder {
  int pid = 0;  // 0: not visible from here, as it is in another PID namespace or on another host
  std::string name;  // the program's name; empty if unknown
  // If pid is 0, the first line of the lock file: "node7, process 17, since 2026-11-23T20:00:00Z".
  // A holder signs the file if it may write it; else the line is that of an earlier holder.
  std::string written = {};
};
// "process 4711 (trainer)"; "a run in another container or on another host; its lock file was last
// written by node7, process 17, since ..."
std::string to_string(const ClaimHolder& holder);

// Not thread-safe. Two objects of one process exclude each other, too.
class GpuClaims {
 public:
  // Returns the folder that the environment variable SPIRE_LOCKS names, such as one that containers
  // share; else /run/lock if all users may write there and this process can; else /tmp.
  static std::filesystem::path shared_folder();

  explicit GpuClaims(std::filesystem::path folder = shared_folder()) : folder_(std::move(folder)) {}
  ~GpuClaims() { release(); }
  GpuClaims(const GpuClaims&) = delete;
  GpuClaims& operator=(const GpuClaims&) = delete;

  // Claims a GPU; does nothing if has(uuid) or the UUID is empty. Returns the holder if another
  // process has claimed it; nullopt if this object has it now, or claim_holder's process has it.
  // Throws Error(device) if the lock file cannot be made or opened.
  std::optional<ClaimHolder> claim(const std::string& uuid);
  bool has(const std::string& uuid) const { return files_.contains(uuid); }
  void release(const std::string& uuid);
  void release();  // releases all claims

 private:
  std::filesystem::path file_of(const std::string& uuid) const;

  std::filesystem::path folder_;
  std::map<std::string, int> files_;  // UUID -> descriptor of the locked file
};

}  // namespace spire
