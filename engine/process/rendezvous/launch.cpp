#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <vector>

#include <spire/world.h>

#include "engine/base/fail.h"
#include "engine/process/rendezvous/handshake.h"
#include "engine/process/rendezvous/master_endpoint.h"

namespace spire {
namespace {

// The variables in which a launcher passes the four numbers. The local ones may be missing.
struct Names {
  const char* launcher;
  const char *rank, *size, *local_rank, *local_size;
};

constexpr Names open_mpi{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names mpich{"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr Names slurm{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
constexpr Names torchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};

// Slurm numbers steps that srun did not start (batch script, interactive shell, ...) from here on.
constexpr uint32_t first_special_step = 0xfffffff0;

// What one launcher says.
struct Claim {
  Names names;
  Launch launch;
};

template <typename Number>
Number number(const char* name, const std::string& text) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    fail(Category::config,
         "{}={} is not a number; a launcher sets this variable, unset it if there is no launcher",
         name, text);
  return value;
}

std::string to_string(const Claim& claim) {
  return fmt::format("{}={} {}={} ({})", claim.names.rank, claim.launch.rank, claim.names.size,
                     claim.launch.size, claim.names.launcher);
}

void check_place(const char* rank_name, int rank, const char* size_name, int size) {
  if (size < 1) fail(Category::config, "{}={}: a run has at least one process", size_name, size);
  if (rank < 0 || rank >= size)
    fail(Category::config,
         "{}={} and {}={} contradict each other: ranks of {} processes go from 0 to {}", rank_name,
         rank, size_name, size, size, size - 1);
}

// Reads the variables of one launcher; nullopt if it has not started this process.
std::optional<Claim> read_claim(const Environment& environment, const Names& names) {
  auto rank = environment(names.rank), size = environment(names.size);
  if (!rank && !size) return {};
  if (!rank || !size)
    fail(Category::config, "{}={} is set, but {} is not; {} sets both: set or unset both",
         rank ? names.rank : names.size, rank ? *rank : *size, rank ? names.size : names.rank,
         names.launcher);
  Claim claim{names, {}};
  Launch& launch = claim.launch;
  launch.launcher = names.launcher;
  launch.rank = number<int>(names.rank, *rank);
  launch.size = number<int>(names.size, *size);
  check_place(names.rank, launch.rank, names.size, launch.size);

  if (auto text = environment(names.local_rank))
    launch.local_rank = number<int>(names.local_rank, *text);
  launch.local_size = launch.local_rank + 1;  // the least that is possible, if nothing tells it
  if (auto text = environment(names.local_size))
    launch.local_size = number<int>(names.local_size, *text);
  check_place(names.local_rank, launch.local_rank, names.local_size, launch.local_size);
  return claim;
}

// Returns the tasks of node `index` in Slurm's "4(x2),3": 4 on each of two nodes, 3 on the next.
std::optional<int> tasks_of_node(const std::string& per_node, int index) {
  std::istringstream list(per_node);
  for (std::string entry; std::getline(list, entry, ',');) {
    int tasks = 0, repeated = 1;
    int read = std::sscanf(entry.c_str(), "%d(x%d)", &tasks, &repeated);
    if (read < 1) return {};
    if (index < repeated) return tasks;
    index -= repeated;
  }
  return {};
}

// Reads srun's variables inside a step that srun started. A batch script also has them, with
// SLURM_PROCID=0 and the size of the whole job, though it runs once.
std::optional<Claim> read_srun(const Environment& environment) {
  auto step = environment("SLURM_STEP_ID");
  if (!step || !environment(slurm.size)) return {};
  if (number<uint32_t>("SLURM_STEP_ID", *step) >= first_special_step) return {};
  auto claim = read_claim(environment, slurm);
  auto node = environment("SLURM_NODEID");
  auto per_node = environment("SLURM_STEP_TASKS_PER_NODE");
  if (node && per_node) {
    auto tasks = tasks_of_node(*per_node, number<int>("SLURM_NODEID", *node));
    if (!tasks || claim->launch.local_rank >= *tasks)
      fail(Category::config,
           "SLURM_LOCALID={} does not fit SLURM_NODEID={} of SLURM_STEP_TASKS_PER_NODE={}",
           claim->launch.local_rank, *node, *per_node);
    claim->launch.local_size = *tasks;
  }
  return claim;
}

// Reads the variables of all launchers: nested ones each set their own. mpirun starts its daemons
// by srun, and torchrun is often started by it: srun's variables then describe another process.
std::vector<Claim> read_claims(const Environment& environment) {
  std::vector<Claim> claims;
  auto add = [&](std::optional<Claim> claim) {
    if (claim) claims.push_back(*claim);
  };
  add(read_claim(environment, open_mpi));
  add(read_claim(environment, mpich));
  if (claims.empty() && !environment("TORCHELASTIC_RUN_ID")) add(read_srun(environment));
  add(read_claim(environment, torchrun));
  return claims;
}

void check_agreement(const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    const Claim& first = claims.front();
    if (claim.launch.rank == first.launch.rank && claim.launch.size == first.launch.size) continue;
    fail(Category::config,
         "two launchers disagree: {}, but {}; unset {} and {} if {} starts this run, or {} and {} "
         "if {} does",
         to_string(first), to_string(claim), claim.names.rank, claim.names.size,
         first.names.launcher, first.names.rank, first.names.size, claim.names.launcher);
  }
}

// Each restart by torchrun has its own key: the former one may have left its entry in the store.
std::string read_store_key(const Environment& environment) {
  if (environment("TORCHELASTIC_USE_AGENT_STORE") != "True") return {};
  return fmt::format("/spire/{}/{}", environment("TORCHELASTIC_RUN_ID").value_or("none"),
                     environment("TORCHELASTIC_RESTART_COUNT").value_or("0"));
}

void need_secret(const Launch& launch) {
  if (!launch.secret.empty() || names_this_machine(launch.master_address)) return;
  fail(
      Category::config,
      "RANK={} and WORLD_SIZE={} meet at MASTER_ADDR={}, over a network, and there is no secret by "
      "which they know each other: set SPIRE_SECRET to the same random text for all ranks, as "
      "`openssl rand -hex 32` makes one, or SPIRE_SECRET_FILE to a file that holds it",
      launch.rank, launch.size, launch.master_address);
}

void read_master(const Environment& environment, Launch& launch) {
  auto address = environment("MASTER_ADDR");
  if (!address || address->empty())
    fail(Category::config,
         "RANK={} and WORLD_SIZE={} are set, but MASTER_ADDR is not; set it to the host of rank 0, "
         "or unset RANK and WORLD_SIZE for a run of one process",
         launch.rank, launch.size);
  launch.master_address = *address;
  auto port = environment("MASTER_PORT");
  launch.master_port = port ? number<int>("MASTER_PORT", *port) : 29500;
  if (launch.master_port < 1 || launch.master_port > 65535)
    fail(Category::config, "MASTER_PORT={} is not a port; use 1 to 65535", launch.master_port);
  launch.one_host = environment(torchrun.local_size) && launch.local_size == launch.size;
  launch.secret = read_secret(environment).value_or("");
  launch.store_key = read_store_key(environment);
  // The store may carry a secret; without it, processes of one host join over loopback.
  if (!launch.store_key.empty()) return;
  if (launch.one_host) launch.master_address = loopback_address;
  need_secret(launch);
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

Launch read_launch(const Environment& environment) {
  auto claims = read_claims(environment);
  if (claims.empty()) return {};
  check_agreement(claims);

  Launch launch = claims.front().launch;
  if (launch.size == 1) return launch;
  launch.mpi = launch.launcher != torchrun.launcher;
  if (!launch.mpi) read_master(environment, launch);
  return launch;
}

}  // namespace spire
