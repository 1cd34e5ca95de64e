// Batches that lie on a GPU train as those of the host do: in place where they are what the data's
// columns are, else by way of the host.
#include <utility>

#include <fmt/format.h>

#include "engine/device/device_memory.h"
#include "tests/emulation/devices.h"
#include "tests/run/api/point_data.h"

namespace spire {
namespace {

// A copy on a GPU.
template <typename T>
std::unique_ptr<DeviceMemory> on_gpu(const std::vector<T>& values, int gpu) {
  auto memory = allocate_memory({DeviceKind::cuda, gpu}, values.size() * sizeof(T));
  memory->write(values.data(), values.size() * sizeof(T));
  return memory;
}

template <typename T>
Array there(const char* column, const DeviceMemory& memory, int gpu, Shape shape,
            std::vector<int64_t> strides = {}) {
  Array rows = array(column, memory.as<T>(), shape, std::move(strides));
  rows.device = {DeviceKind::cuda, gpu};
  return rows;
}

struct Step {
  const char* name;
  Samples host, gpu;
};

TEST(EmulationRows, TrainWhereTheyAre) {
  PointData data(8);
  std::vector<double> doubles(data.features.begin(), data.features.end());
  for (int gpu : {0, 1}) {
    auto x = on_gpu(data.features, gpu), wide = on_gpu(doubles, gpu), y = on_gpu(data.values, gpu);
    auto rows = [&](int64_t count) -> Samples {
      return {{there<float>("features", *x, gpu, {count, 3}),
               there<float>("values", *y, gpu, {count, 1})},
              count};
    };
    const std::vector<Step> steps = {
        {"in place", data.rows(0, 8), rows(8)},
        {"converted",
         data.rows(0, 8),
         {{there<double>("features", *wide, gpu, {8, 3}), rows(8).columns[1]}, 8}},
        {"not full", data.rows(0, 5), rows(5)},
        {"every second",
         {{array("features", data.features.data(), {4, 3}, {6, 1}),
           array("values", data.values.data(), {4, 1}, {2, 1})},
          4},
         {{there<float>("features", *x, gpu, {4, 3}, {6, 1}),
           there<float>("values", *y, gpu, {4, 1}, {2, 1})},
          4}}};
    for (const std::vector<std::string>& devices :
         {std::vector<std::string>{"cuda:0", "cuda:1"}, std::vector<std::string>{"cpu:0"}}) {
      RunConfig config = point_config(devices);
      config.cuda.autotune = false;  // two trainers may measure other engines as the fastest
      Trainer by_host(config, data.spec(), {.any_batch = true});
      Trainer by_gpu(config, data.spec(), {.any_batch = true});
      by_gpu.warm_up();
      auto step = [&](Trainer& trainer, const Samples& samples) {  // loss, bytes from GPU 1 to 0
        emulation::count_traffic(true);
        double loss = trainer.step(samples).loss;
        emulation::count_traffic(false);
        return std::pair(loss, emulation::bytes_between(1, 0));
      };
      for (const Step& each : steps) {
        SCOPED_TRACE(fmt::format("{}, {}, {}", each.name, devices.front(), gpu));
        auto [loss, bytes] = step(by_gpu, each.gpu);
        auto [expected_loss, expected_bytes] = step(by_host, each.host);
        EXPECT_EQ(loss, expected_loss);
        EXPECT_EQ(by_gpu.parameter_hash(), by_host.parameter_hash());
        if (&each != &steps[0]) continue;
        size_t direct = devices.size() > 1 && gpu == 1 ? 4 * 4 * sizeof(float) : 0;  // of a tower
        EXPECT_EQ(bytes - expected_bytes, direct);
      }
      EXPECT_EQ(by_gpu.evaluate(rows(8)).loss, by_host.evaluate(data.rows(0, 8)).loss);
      EXPECT_EQ(by_gpu.predict(rows(8).columns[0], 8), by_host.predict(data.features.data(), 8));
    }
  }
}

}  // namespace
}  // namespace spire
