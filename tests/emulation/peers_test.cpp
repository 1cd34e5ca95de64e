// Tests of several GPUs: one hash whether they read each other's memory or NCCL joins them, evenly
// shared traffic, and an error for memory that a device cannot reach.
#include <numeric>

#include <gmock/gmock.h>
#include <tests/emulation/cuda_objects.h>
#include <tests/emulation/devices.h>

#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"
#include "tests/base/message_of.h"
#include "tests/base/set_variable.h"
#include "tests/train/small_run.h"

namespace spire {
namespace {

using emulation::PeerGroups;
using ::testing::HasSubstr;

// Sets up the emulated machine for one test.
class EmulationPeers : public ::testing::Test {
 protected:
  ~EmulationPeers() override {
    set_machine(2, {{0, 1, 2, 3}});
    emulation::set_load_lock(false);
  }
  static void set_machine(int devices, const PeerGroups& groups) {
    emulation::set_device_count(devices);
    emulation::set_peer_groups(groups);
  }
};

struct Machine {
  std::string name;
  int gpus;
  PeerGroups peers;
  std::vector<std::string> devices = {"cuda"};
  int ranks = 1;
};

// GPUs that read each other's memory and others, logical devices; in one process and in two.
const std::vector<Machine> test_machines = {
    {"none of two", 2, {}},
    {"none of three", 3, {}},
    {"one of two twice", 2, {}, {"cuda:0", "cuda:1", "cuda:0"}},
    {"all of two", 2, {{0, 1}}},
    {"all of three", 3, {{0, 1, 2}}},
    {"all of two, one twice", 2, {{0, 1}}, {"cuda:0", "cuda:1", "cuda:0"}},
    {"two pairs", 4, {{0, 1}, {2, 3}}},
    {"none of two processes' four", 4, {}, {"cuda"}, 2},
    {"two processes of a pair each", 4, {{0, 1}, {2, 3}}, {"cuda"}, 2},
    {"a trio and a pair in two processes", 5, {{0, 1, 2}, {3, 4}}, {"cuda"}, 2},
    {"a pair, and none of three, in two processes", 5, {{0, 1}}, {"cuda"}, 2},
};

SmallRun small_run(const std::function<void(SmallRun&)>& change) {
  SmallRun run;
  run.towers = 6;
  run.batch_size = 2;
  run.devices = {"cuda:0"};
  run.model = {.name = "mlp", .hidden = {200, 100}};
  change(run);
  return run;
}

void expect_one_hash(SmallRun run, int64_t steps, const std::vector<Machine>& machines) {
  uint64_t expected = hash_after(run, steps);
  for (const Machine& machine : machines) {
    emulation::set_device_count(machine.gpus);
    emulation::set_peer_groups(machine.peers);
    emulation::set_load_lock(machine.ranks == 1);  // a process each
    run.devices = machine.devices;
    run.ranks = machine.ranks;
    for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
      run.strategy = strategy;
      EXPECT_EQ(hash_after(run, steps), expected) << machine.name << ", " << strategy;
    }
  }
}

TEST_F(EmulationPeers, OneHashWithClippedAdamW) {
  expect_one_hash(small_run([](SmallRun& r) {
                    r.optimizer = {
                        .name = OptimizerConfig::Name::adamw, .lr = 0.01, .clip_norm = 0.5};
                    r.ema = {.decay = 0.9};
                  }),
                  4, test_machines);
}

TEST_F(EmulationPeers, OneHashWithNormsOfLayersInBf16) {
  expect_one_hash(small_run([](SmallRun& r) {
                    r.precision = DType::bf16;
                    r.optimizer = {
                        .name = OptimizerConfig::Name::lars, .lr = 2.0, .weight_decay = 0.01};
                  }),
                  3, test_machines);
}

TEST_F(EmulationPeers, OneHashWithGradientsInBf16) {
  expect_one_hash(small_run([](SmallRun& r) {
                    r.model = {.name = "cnn", .hidden = {16}, .channels = {4, 8}};
                    r.model.normalization = ModelConfig::Normalization::batch_norm;
                    r.reduction_dtype = RunConfig::GradientDtype::bf16;
                  }),
                  2, test_machines);
}

TEST_F(EmulationPeers, OneHashWithLossScaleInFp16) {
  expect_one_hash(small_run([](SmallRun& r) {
                    r.precision = DType::f16;
                    r.loss_scale = {.initial = 2e6, .growth_interval = 2};
                  }),
                  4, {test_machines[0], test_machines[4], test_machines[9]});
}

TEST_F(EmulationPeers, OneHashWithSumsOverTowers) {
  expect_one_hash(small_run([](SmallRun& r) {
                    r.model = {.name = "cnn", .hidden = {16}, .channels = {4, 8}};
                    r.model.normalization = ModelConfig::Normalization::batch_norm;
                    r.model.batch_norm = ModelConfig::BatchNorm::sync;
                  }),
                  2, {test_machines[1], test_machines[4], test_machines[7], test_machines[9]});
}

// A sum over all of them has more terms than the small form of its kernel takes.
TEST_F(EmulationPeers, OneHashOn128Gpus) {
  SmallRun run = small_run([](SmallRun& r) {
    r.towers = 128;
    r.batch_size = 1;
    r.samples = 130;
    r.model.hidden = {8};
  });
  uint64_t expected = hash_after(run, 2);
  std::vector<int> all(128);
  std::iota(all.begin(), all.end(), 0);
  set_machine(128, {all});
  run.devices = {"cuda"};
  for (const char* strategy : {"parameter_device", "sharded"}) {
    run.strategy = strategy;
    EXPECT_EQ(hash_after(run, 2), expected) << strategy;
  }
}

// The parameter device is not the first of its process, so other memory is exchanged. Updates on
// the host have different bits.
TEST_F(EmulationPeers, OneHashWithAnyParameterDevice) {
  SmallRun one = small_run([](SmallRun&r) { r.optimizer.clip_norm = 0.5; }), on_host = one;
  on_host.parameter_device = "cpu";
  uint64_t by_gpu = hash_after(one, 3), by_host = hash_after(on_host, 3);
  for (const PeerGroups& peers : {PeerGroups{}, PeerGroups{{0, 1, 2}}}) {
    set_machine(3, peers);
    for (std::string device : {"cuda:1", "cuda:2", "cpu"}) {
      SmallRun run = one;
      run.devices = {"cuda"};
      run.parameter_device = device;
      EXPECT_EQ(hash_after(run, 3), device == "cpu" ? by_host : by_gpu) << device;
    }
  }
}

TEST_F(EmulationPeers, NativeSumsAreNearAndEqualOnAll) {
  SmallRun run = small_run([](SmallRun& r) { r.reduction = "native"; });
  auto weights = [&] {
    std::vector<float> values;
    on_ranks(run, [&](TowerTrainer& trainer) {
      run_steps(trainer, run, 0, 3);
      trainer.team().lead([&] { trainer.check_replicas(); });
      values.assign(trainer.weights(), trainer.weights() + trainer.layout().trained_floats());
    });
    return values;
  };
  auto one = weights();
  run.devices = {"cuda"};
  for (const PeerGroups& peers : {PeerGroups{}, PeerGroups{{0, 1, 2}}}) {
    set_machine(3, peers);
    for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
      run.strategy = strategy;
      auto three = weights();
      for (size_t i = 0; i < one.size(); ++i)
        ASSERT_NEAR(three[i], one[i], 1e-5 + 1e-5 * std::abs(one[i])) << strategy;
    }
  }
}

// Peer access can be switched off, to measure it or to search for a fault.
TEST_F(EmulationPeers, TheConfigMayAskForEither) {
  SmallRun run = small_run([](SmallRun&) {});
  uint64_t expected = hash_after(run, 2);
  run.devices = {"cuda"};
  run.cuda.peer = CudaConfig::Peer::nccl;
  EXPECT_EQ(run.place().members[0].peers.size(), 1);
  EXPECT_EQ(hash_after(run, 2), expected);
  run.cuda.peer = CudaConfig::Peer::direct;
  EXPECT_EQ(run.place().members[0].peers.size(), 2);
  set_machine(2, {});
  EXPECT_THAT(
      message_of(Category::device, [&] { run.place(); }),
      HasSubstr("cuda.peer: direct, but cuda:0 and cuda:1 cannot read each other's memory"));
}

TEST_F(EmulationPeers, AreNotUsedWhereNcclsVariableForbidsIt) {
  SmallRun run = small_run([](SmallRun& r) { r.devices = {"cuda"}; });
  uint64_t expected = hash_after(run, 2);
  for (const char* value : {"1", "0"}) {
    SetVariable disable("NCCL_P2P_DISABLE", value);
    bool forbidden = value == std::string("1");
    EXPECT_EQ(peer_access_disabled(), forbidden);
    EXPECT_EQ(run.place().members[0].peers.size(), forbidden ? 1 : 2);
    EXPECT_EQ(hash_after(run, 2), expected);
  }
}

// P: bytes of the weights. In a reduce-scatter each of R GPUs sends (R - 1) / R P, and as much when
// sums or weights are gathered; a parameter device sends all others one part of the weights each.
TEST_F(EmulationPeers, NoGpuSendsMoreThanTwiceTheWeights) {
  set_machine(4, {{0, 1, 2, 3}});
  SmallRun run = small_run([](SmallRun& r) {
    r.towers = 4;
    r.devices = {"cuda"};
    r.model.hidden = {600, 600};
    r.bucket = {.first_mib = 0.25, .mib = 0.25};  // of 16 chunks, so that each GPU has four
  });
  for (std::string strategy : {"parameter_device", "mirrored", "sharded"}) {
    run.strategy = strategy;
    TowerTrainer trainer(run.options(), run.place());
    auto weights = static_cast<double>(trainer.layout().trained_floats() * int64_t{sizeof(float)});
    emulation::count_traffic(true);
    run_steps(trainer, run, 0, 2);
    for (int from = 0; from < 4; ++from) {
      double sent = 0;
      for (int to = 0; to < 4; ++to)
        sent += static_cast<double>(emulation::bytes_between(from, to)) / (2 * weights);
      EXPECT_LE(sent, 2.01) << strategy << ", cuda:" << from;
      EXPECT_GE(sent, 1.3) << strategy << ", cuda:" << from;  // what is sent is counted
    }
    emulation::count_traffic(false);
  }
}

// Of 5 towers the second process has three, in two nodes of the tree: one has no buffer on one of
// its GPUs.
TEST_F(EmulationPeers, PeaksAreThePlan) {
  for (const char* strategy : {"parameter_device", "mirrored", "sharded"}) {
    for (const char* parameters : {"auto", "cuda:1"}) {
      SmallRun run = small_run([&](SmallRun& r) {
        r.towers = 5;
        r.optimizer = {.name = OptimizerConfig::Name::lamb, .lr = 0.01, .clip_norm = 1};
        r.devices = {"cuda"};
        r.strategy = strategy;
        r.parameter_device = parameters;
      });
      for (const Machine& machine : {test_machines[4], test_machines[8]}) {
        set_machine(machine.gpus, machine.peers);
        run.ranks = machine.ranks;
        on_ranks(run, [&](TowerTrainer& trainer) {
          run_steps(trainer, run, 0, 1);
          EXPECT_EQ(trainer.peak_memory(), trainer.planned_memory())
              << strategy << ", " << machine.name;
        });
      }
    }
  }
}

TEST_F(EmulationPeers, EvaluationAndStateAreThoseOfOneGpu) {
  SmallRun run = small_run([](SmallRun& r) { r.ema = {.decay = 0.9}; });
  run.strategy = "sharded";
  TrainingState one = state_after(run, 2);
  uint64_t straight = hash_after(run, 4);
  set_machine(3, {{0, 1, 2}});
  run.devices = {"cuda"};
  TrainingState three = state_after(run, 2);
  EXPECT_EQ(three.parameter_hash, one.parameter_hash);
  ASSERT_EQ(three.optimizer.size(), one.optimizer.size());
  TowerTrainer trainer(run.options(), run.place());
  trainer.team().lead([&] { trainer.restore(one, &one); });
  run_steps(trainer, run, 2, 4);
  EXPECT_EQ(trainer.parameter_hash(), straight);
}

// One device fails: the others do not wait, and the error names it.
TEST_F(EmulationPeers, AFailureOfOneEndsAllByName) {
  SmallRun run = small_run([](SmallRun& r) { r.devices = {"cuda"}; });
  const std::vector<std::pair<std::string, Phase>> places = {{"cuda:0", Phase::backward},
                                                             {"cuda:1", Phase::backward},
                                                             {"cuda:2", Phase::backward},
                                                             {"cuda:0", Phase::update},
                                                             {"cuda:2 exchange", Phase::bucket}};
  for (const auto& [thread, phase] : places) {
    for (const PeerGroups& peers : {PeerGroups{}, PeerGroups{{0, 1, 2}}}) {
      set_machine(3, peers);
      TowerTrainer trainer(run.options(), run.place());
      trainer.status().set_hook([&](const PhaseRow& row) {
        if (row.thread == thread && row.phase == phase && row.step == 2)
          fail(Category::device, "fallen off the bus");
      });
      std::string text = message_of(Category::device, [&] { run_steps(trainer, run, 0, 4); });
      EXPECT_THAT(text, ::testing::StartsWith(thread + ", " + phase_text(phase, 0)));
      EXPECT_THAT(text, HasSubstr("of step 2: fallen off the bus"));
    }
  }
}

TEST_F(EmulationPeers, NcclRefusesMemoryOfAnotherGpu) {
  set_machine(2, {{0, 1}});
  std::vector<ExchangeEnd> ends = {{0, {DeviceKind::cuda, 0}}, {1, {DeviceKind::cuda, 1}}};
  auto exchanges = make_nccl_exchanges(nullptr, ends, {{0, 1}, {1, 2}});
  auto stream = make_stream({DeviceKind::cuda, 0});
  auto there = allocate_memory({DeviceKind::cuda, 1}, 64);
  std::vector<Outgoing> sends = {{1, there->data(), 64}};
  EXPECT_THAT(message_of(Category::collective, [&] { exchanges[0]->exchange(sends, {}, *stream); }),
              HasSubstr("cuda:0: ncclSend, ncclRecv: invalid argument"));
  exchanges[1]->check();
  exchanges[0]->abort();  // for all of the process
  EXPECT_THROW(exchanges[1]->check(), PeerLost);
}

}  // namespace
}  // namespace spire
