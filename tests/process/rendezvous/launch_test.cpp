#include <cstdlib>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/world.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

Launch read(const Variables& variables) {
  return read_launch([&](const std::string& name) -> std::optional<std::string> {
    auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

Variables operator+(Variables all, const Variables& more) {
  for (auto& [name, value] : more) all[name] = value;
  return all;
}

const Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "5"},
                         {"OMPI_COMM_WORLD_SIZE", "8"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
const Variables mpich{
    {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
const Variables batch_script{{"SLURM_PROCID", "0"},
                             {"SLURM_LOCALID", "0"},
                             {"SLURM_NTASKS", "5"},
                             {"SLURM_NODEID", "0"},
                             {"SLURM_JOB_ID", "77"}};
const Variables step = batch_script + Variables{{"SLURM_STEP_ID", "0"},
                                                {"SLURM_STEP_NUM_TASKS", "5"},
                                                {"SLURM_PROCID", "4"},
                                                {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                                                {"SLURM_NODEID", "2"}};
const Variables torchrun{{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "4"},
                         {"MASTER_ADDR", "node7"},
                         {"MASTER_PORT", "4000"},
                         {"SPIRE_SECRET", "eight ranks know it"}};

// Expects an Error(config) with all of `words` in its message.
void expect_refusal(const Variables& variables, const std::vector<std::string>& words) {
  std::string text = message_of(Category::config, [&] { read(variables); });
  for (auto& word : words) EXPECT_THAT(text, HasSubstr(word));
}

void expect_place(const Launch& launch, const std::string& launcher, int rank, int size,
                  int local_rank, int local_size) {
  EXPECT_EQ(launch.launcher, launcher);
  EXPECT_EQ(launch.rank, rank);
  EXPECT_EQ(launch.size, size);
  EXPECT_EQ(launch.local_rank, local_rank);
  EXPECT_EQ(launch.local_size, local_size);
}

TEST(Launch, WithoutVariablesItIsOneProcess) {
  for (auto& variables : {Variables{}, Variables{{"MASTER_ADDR", "x"}, {"LOCAL_RANK", "3"}}}) {
    Launch launch = read(variables);
    expect_place(launch, "", 0, 1, 0, 1);
    EXPECT_FALSE(launch.mpi);
  }
}

TEST(Launch, Mpirun) {
  expect_place(read(open_mpi), "mpirun", 5, 8, 1, 4);
  expect_place(read(mpich), "mpirun", 1, 2, 1, 2);
  EXPECT_TRUE(read(open_mpi).mpi);
  EXPECT_TRUE(read(mpich).mpi);
}

TEST(Launch, MpirunWithOneProcessNeedsNoMpi) {
  Launch launch = read({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
  expect_place(launch, "mpirun", 0, 1, 0, 1);
  EXPECT_FALSE(launch.mpi);
}

TEST(Launch, SrunIsAJobStep) {
  expect_place(read(step), "srun", 4, 5, 0, 1);
  EXPECT_TRUE(read(step).mpi);
  auto second = Variables{{"SLURM_PROCID", "3"}, {"SLURM_NODEID", "1"}, {"SLURM_LOCALID", "1"}};
  expect_place(read(step + second), "srun", 3, 5, 1, 2);
}

TEST(Launch, ABatchScriptIsOneProcess) {
  expect_place(read(batch_script), "", 0, 1, 0, 1);
  auto number_of_batch_steps = std::to_string(0xfffffffbu);
  expect_place(read(step + Variables{{"SLURM_STEP_ID", number_of_batch_steps}}), "", 0, 1, 0, 1);
}

TEST(Launch, AStepOfOneTaskIsOneProcess) {
  Launch launch = read({{"SLURM_STEP_ID", "3"},
                        {"SLURM_STEP_NUM_TASKS", "1"},
                        {"SLURM_PROCID", "0"},
                        {"SLURM_NTASKS", "5"}});
  expect_place(launch, "srun", 0, 1, 0, 1);
  EXPECT_FALSE(launch.mpi);
}

TEST(Launch, Torchrun) {
  Launch launch = read(torchrun);
  expect_place(launch, "torchrun", 5, 8, 1, 4);
  EXPECT_FALSE(launch.mpi);
  EXPECT_EQ(launch.master_address, "node7");
  EXPECT_EQ(launch.master_port, 4000);
}

TEST(Launch, TorchrunsDefaults) {
  Launch launch = read({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}});
  expect_place(launch, "torchrun", 1, 2, 0, 1);
  EXPECT_EQ(launch.master_port, 29500);
  expect_place(read({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "torchrun", 0, 1, 0, 1);
}

// Over a network unknown peers may connect, too; a run on one machine's loopback needs no secret.
TEST(Launch, ANetworkNeedsASecret) {
  Variables open = torchrun;
  open.erase("SPIRE_SECRET");
  for (const char* address :
       {"node7", "10.9.0.1", "127", "localhost.example.org", "::1", "127.example.net"}) {
    expect_refusal(open + Variables{{"MASTER_ADDR", address}},
                   {"RANK=5 and WORLD_SIZE=8 meet at MASTER_ADDR=" + std::string(address),
                    "SPIRE_SECRET", "SPIRE_SECRET_FILE", "openssl rand -hex 32"});
  }
  for (const char* address : {"localhost", "127.0.0.1", "127.1.2.3"})
    EXPECT_EQ(read(open + Variables{{"MASTER_ADDR", address}}).secret, "");
  EXPECT_EQ(read(torchrun).secret, "eight ranks know it");
  expect_refusal(open + Variables{{"SPIRE_SECRET", "short"}}, {"SPIRE_SECRET has 5 characters"});
  // MPI joins its ranks itself.
  EXPECT_EQ(read(open_mpi).secret, "");
}

TEST(Launch, OneHostMeansLoopback) {
  Variables one_host = torchrun + Variables{{"LOCAL_WORLD_SIZE", "8"}, {"LOCAL_RANK", "5"}};
  one_host.erase("SPIRE_SECRET");
  EXPECT_TRUE(read(one_host).one_host);
  EXPECT_EQ(read(one_host).master_address, "127.0.0.1");
  EXPECT_FALSE(read(torchrun).one_host);
  EXPECT_EQ(read(torchrun).master_address, "node7");
  // Without LOCAL_WORLD_SIZE, only the last rank could conclude it, from its LOCAL_RANK.
  one_host.erase("LOCAL_WORLD_SIZE");
  Variables last = one_host + Variables{{"RANK", "7"}, {"LOCAL_RANK", "7"}};
  expect_refusal(last, {"MASTER_ADDR=node7", "SPIRE_SECRET"});
}

TEST(Launch, TorchrunsAgentKeepsAStore) {
  Variables agent = torchrun + Variables{{"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                         {"TORCHELASTIC_RUN_ID", "job 7"},
                                         {"TORCHELASTIC_RESTART_COUNT", "2"}};
  agent.erase("SPIRE_SECRET");
  EXPECT_EQ(read(agent).store_key, "/spire/job 7/2");
  EXPECT_EQ(read(agent).master_address, "node7");
  EXPECT_EQ(read(agent + Variables{{"LOCAL_WORLD_SIZE", "8"}, {"LOCAL_RANK", "5"}}).master_address,
            "node7")
      << "the agent's, not rank 0's";
  EXPECT_EQ(read(agent + Variables{{"SPIRE_SECRET", "eight ranks know it"}}).secret,
            "eight ranks know it");
  EXPECT_EQ(read(torchrun + Variables{{"TORCHELASTIC_USE_AGENT_STORE", "False"}}).store_key, "");
}

TEST(Launch, TheInnerLauncherCounts) {
  expect_place(read(step + open_mpi), "mpirun", 5, 8, 1, 4);  // mpirun's daemons are srun's tasks
  expect_place(read(step + torchrun + Variables{{"TORCHELASTIC_RUN_ID", "none"}}), "torchrun", 5, 8,
               1, 4);
}

TEST(Launch, LaunchersThatAgreeUseMpi) {
  Launch launch = read(open_mpi + torchrun);
  expect_place(launch, "mpirun", 5, 8, 1, 4);
  EXPECT_TRUE(launch.mpi);
  launch = read(step + Variables{{"RANK", "4"}, {"WORLD_SIZE", "5"}});
  EXPECT_EQ(launch.launcher, "srun");
  EXPECT_TRUE(launch.mpi);
}

TEST(Launch, LaunchersThatDisagreeAreRefused) {
  expect_refusal(open_mpi + torchrun + Variables{{"RANK", "4"}},
                 {"OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 (mpirun)",
                  "RANK=4 WORLD_SIZE=8 (torchrun)", "unset RANK and WORLD_SIZE if mpirun starts",
                  "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE if torchrun does"});
  expect_refusal(mpich + torchrun, {"PMI_RANK=1 PMI_SIZE=2", "RANK=5 WORLD_SIZE=8"});
  expect_refusal(open_mpi + mpich, {"OMPI_COMM_WORLD_RANK=5", "PMI_RANK=1"});
  expect_refusal(step + torchrun, {"SLURM_PROCID=4 SLURM_STEP_NUM_TASKS=5", "RANK=5"});
  expect_refusal(Variables{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}} + torchrun,
                 {"OMPI_COMM_WORLD_SIZE=1", "WORLD_SIZE=8"});
}

TEST(Launch, WhatIsMissingIsNamed) {
  expect_refusal({{"RANK", "1"}}, {"RANK=1 is set, but WORLD_SIZE is not", "torchrun"});
  expect_refusal({{"WORLD_SIZE", "2"}}, {"WORLD_SIZE=2 is set, but RANK is not"});
  expect_refusal({{"RANK", "1"}, {"WORLD_SIZE", "2"}},
                 {"RANK=1 and WORLD_SIZE=2 are set, but MASTER_ADDR is not"});
  expect_refusal({{"OMPI_COMM_WORLD_SIZE", "2"}}, {"OMPI_COMM_WORLD_RANK is not", "mpirun"});
  expect_refusal({{"PMI_RANK", "0"}}, {"PMI_RANK=0 is set, but PMI_SIZE is not"});
  Variables without_rank = step;
  without_rank.erase("SLURM_PROCID");
  expect_refusal(without_rank, {"SLURM_STEP_NUM_TASKS=5 is set, but SLURM_PROCID is not"});
}

TEST(Launch, WhatIsNoNumberIsNamed) {
  for (std::string text : {"", "one", "1.5", "2x", " 3", "99999999999"}) {
    expect_refusal(torchrun + Variables{{"RANK", text}}, {"RANK=" + text + " is not a number"});
    expect_refusal(torchrun + Variables{{"WORLD_SIZE", text}}, {"WORLD_SIZE=" + text});
    expect_refusal(torchrun + Variables{{"LOCAL_RANK", text}}, {"LOCAL_RANK=" + text});
    expect_refusal(torchrun + Variables{{"MASTER_PORT", text}}, {"MASTER_PORT=" + text});
    expect_refusal(step + Variables{{"SLURM_STEP_ID", text}}, {"SLURM_STEP_ID=" + text});
  }
}

TEST(Launch, WhatIsOutOfRangeIsNamed) {
  expect_refusal(torchrun + Variables{{"RANK", "8"}}, {"RANK=8 and WORLD_SIZE=8", "from 0 to 7"});
  expect_refusal(torchrun + Variables{{"RANK", "-1"}}, {"RANK=-1"});
  expect_refusal(torchrun + Variables{{"WORLD_SIZE", "0"}}, {"WORLD_SIZE=0"});
  expect_refusal(torchrun + Variables{{"LOCAL_RANK", "4"}},
                 {"LOCAL_RANK=4 and LOCAL_WORLD_SIZE=4"});
  expect_refusal(torchrun + Variables{{"MASTER_PORT", "65536"}}, {"MASTER_PORT=65536"});
  expect_refusal(torchrun + Variables{{"MASTER_ADDR", ""}}, {"MASTER_ADDR"});
  expect_refusal({{"RANK", "1"}, {"WORLD_SIZE", "1"}}, {"RANK=1 and WORLD_SIZE=1"});
  expect_refusal(step + Variables{{"SLURM_NODEID", "3"}}, {"SLURM_NODEID=3", "2(x2),1"});
  expect_refusal(step + Variables{{"SLURM_STEP_TASKS_PER_NODE", "many"}}, {"many"});
}

TEST(Launch, ReadsTheProcessesOwnVariables) {
  auto environment = process_environment();
  ASSERT_TRUE(std::getenv("PATH"));
  EXPECT_EQ(environment("PATH"), std::string(std::getenv("PATH")));
  EXPECT_FALSE(environment("SPIRE_NO_SUCH_VARIABLE"));
}

}  // namespace
}  // namespace spire
