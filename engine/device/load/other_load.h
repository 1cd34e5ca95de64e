// What other programs use of this process's cores, from the kernel's counts (proc(5)).
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include <spire/commands/host_use.h>

namespace spire::inline device {

class OtherLoad {
 public:
  // Begins to count. cores: those that are looked at. root: the folder that contains proc.
  explicit OtherLoad(std::vector<int> cores, std::filesystem::path root = "/");

  // Returns how many of the cores others have used since the last call, on average: 1.6 of 2. What
  // the process itself has used, with those of its children that it has waited for, is not in it,
  // and what a hypervisor gave to other machines ("steal") is. Programs with a lowered priority
  // (nice) do not count, unless this one's is lowered, too: they get what is left over. None where
  // the system does not tell, or where no time has passed.
  std::optional<double> read();

 private:
  struct Ticks {  // since the system started; own: of the process
    double busy = 0, total = 0, own = 0;
  };
  std::optional<Ticks> count() const;

  const std::vector<int> cores_;
  const std::filesystem::path root_;
  const bool lowered_;  // the priority of this process
  std::optional<Ticks> before_;
};

}  // namespace spire::inline device
