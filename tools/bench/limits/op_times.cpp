#include "tools/bench/limits/op_times.h"

#include <algorithm>
#include <optional>

#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/observe/formatting.h"
#include "engine/run/run_data.h"
#include "engine/run/run_setup.h"
#include "tools/bench/limits/timed_tower.h"
#include "tools/bench/report/rounds.h"

namespace spire {
namespace {

constexpr size_t listed = 10;  // ops that lose most

double product_ceiling(const Ceilings& ceilings, DType type) {
  using Precision = RunConfig::Precision;
  if (type == DType::f16) return flops_per_s(ceilings, Precision::fp16);
  return flops_per_s(ceilings, type == DType::bf16 ? Precision::bf16 : Precision::fp32);
}

// The towers of all lanes, and what they share.
class TimedTowers {
 public:
  explicit TimedTowers(RunSetup& setup)
      : setup_(setup), options_(setup.trainer_options()), layout_(make_layout(build_, samples())) {
    devices_ = std::make_unique<DeviceSet>(
        options_.config, setup.placement, layout_, nullptr,
        DeviceSet::Options{.tuning = options_.tuning, .connects = false, .explain = {}});
    towers_.resize(static_cast<size_t>(devices_->lanes()));
    team().lead([this] { make_towers(); });
  }

  int lanes() const { return devices_->lanes(); }
  const TimedTower& first() const { return *towers_[0]; }

  void run(const Batch& batch, int64_t step) {
    team().lead([&] { team().parallel([&](int lane) { of(lane).run(batch, step); }); });
  }

 private:
  LaneTeam& team() { return devices_->team(); }
  TimedTower& of(int lane) { return *towers_[static_cast<size_t>(lane)]; }
  int64_t samples() const { return setup_.placement.batch_size; }

  // Plans of one device share a table of packed weights, so lanes compile one after another.
  void make_towers() {
    for (int turn = 0; turn < lanes(); ++turn) {
      team().parallel([&](int lane) {
        if (lane != turn) return;
        towers_[static_cast<size_t>(lane)] = std::make_unique<TimedTower>(
            *devices_, lane,
            TimedTower::Options{build_, layout_, recomputes(options_.config),
                                options_.config.seed});
      });
    }
    write_weights();
    team().parallel([&](int lane) { of(lane).allocate(); });
  }

  void write_weights() {
    Buffer weights(static_cast<size_t>(layout_.total_floats()) * sizeof(float));
    layout_.initialize(options_.config.seed, weights.as<float>());
    for (int d = devices_->local().begin; d < devices_->local().end; ++d) {
      devices_->replica(d).allocate(devices_->pool(d));
      devices_->replica(d).write(weights.as<float>());
    }
    team().parallel([&](int lane) {
      LaneSite site = devices_->site(lane);
      Replica& replica = devices_->replica(site.device);
      Stream& stream = devices_->stream(lane);
      replica.forms.pack_for_step(replica.values(), site.part, site.parts, stream);
      replica.forms.pack_frozen(replica.values(), site.part, site.parts, stream);
      stream.synchronize();
    });
  }

  RunSetup& setup_;
  TowerTrainerOptions options_;
  GraphBuilder build_ = [this](int64_t batch, bool training) {
    return options_.build(batch, training);
  };
  ParameterLayout layout_;
  std::unique_ptr<DeviceSet> devices_;
  std::vector<std::unique_ptr<TimedTower>> towers_;  // one per lane
};

// Returns the times of each op, one per repetition.
std::vector<std::vector<double>> time_steps(TimedTowers& towers, const Batch& batch,
                                            const OpTimesOptions& options) {
  size_t ops = towers.first().work().size();
  std::vector<std::vector<double>> seconds(ops);
  for (int64_t step = 0; step < options.warmup + options.repetitions; ++step) {
    towers.run(batch, step);
    if (step < options.warmup) continue;
    for (size_t op = 0; op < ops; ++op) seconds[op].push_back(towers.first().seconds(op));
  }
  return seconds;
}

double seconds_at(double amount, double per_second) {
  return per_second > 0 ? amount / per_second : 0;
}

void add_numbers(OpTime& sum, const OpTime& op) {
  sum.flops += op.flops;
  sum.bytes += op.bytes;
  sum.seconds += op.seconds;
  sum.roofline_seconds += op.roofline_seconds;
}

OpTime sum_of(const std::vector<OpTime>& ops, std::optional<Pass> pass = {}) {
  OpTime sum;
  for (const OpTime& op : ops) {
    if (!pass || op.pass == *pass) add_numbers(sum, op);
  }
  return sum;
}

std::vector<std::string> cells_of(std::vector<std::string> names, const OpTime& op, double step) {
  auto milliseconds = [](double seconds) { return fmt::format("{:.2f}", 1e3 * seconds); };
  bool known = op.roofline_seconds > 0;
  for (std::string cell :
       {milliseconds(op.seconds), fmt::format("{:.1f}%", 100 * op.seconds / step),
        known ? milliseconds(op.roofline_seconds) : "-",
        known ? milliseconds(op.lost_seconds()) : "-",
        op.flops > 0 ? fmt::format("{:.1f}", op.flops / op.seconds / 1e9) : "",
        fmt::format("{:.1f}", op.bytes / op.seconds / 1e9)})
    names.push_back(std::move(cell));
  return names;
}

std::string ceiling_text(double per_s, const char* unit, const std::string& of) {
  return per_s > 0 ? fmt::format("{:.1f} {} of {}", per_s / 1e9, unit, of) : of + " not measured";
}

std::string heading(const OpTimes& times) {
  return fmt::format(
      "ops of a tower's step on {} ({}), {}, {}; {} at the same time; medians of {}\n"
      "roofline: the longer of FLOPs and bytes at a lane's ceilings: {}, {}\n"
      "not included: copies of the batch, sums of gradients, update, packing of weights\n\n",
      times.device, counted(times.threads, "thread"), counted(times.samples, "sample"),
      times.precision, counted(times.lanes, "lane"), counted(times.repetitions, "run"),
      ceiling_text(times.flops_per_s, "GFLOP/s", "products in " + times.precision),
      ceiling_text(times.copy_bytes_per_s, "GB/s", "copies"));
}

TextTable kinds_table(const std::vector<OpTime>& ops, double step) {
  TextTable table = {{"pass", "op", "count", "ms", "share", "roofline", "lost", "GFLOP/s", "GB/s"}};
  for (const OpTime& kind : sums_by_kind(ops, add_numbers)) {
    auto count = std::ranges::count_if(ops, [&](const OpTime& op) { return op.same_kind(kind); });
    table.push_back(cells_of({word_of(kind.pass), kind.op, std::to_string(count)}, kind, step));
  }
  for (Pass pass : {Pass::forward, Pass::backward})
    table.push_back(cells_of({word_of(pass), "all", ""}, sum_of(ops, pass), step));
  table.push_back(cells_of({"both", "all", std::to_string(ops.size())}, sum_of(ops), step));
  return table;
}

TextTable losses_table(std::vector<OpTime> ops, double step) {
  std::ranges::stable_sort(ops, std::ranges::greater{}, &OpTime::lost_seconds);
  ops.resize(std::min(ops.size(), listed));
  TextTable table = {
      {"loses most", "layer", "shapes", "ms", "share", "roofline", "lost", "GFLOP/s", "GB/s"}};
  for (const OpTime& op : ops) table.push_back(cells_of({op.op, op.layer, op.shapes}, op, step));
  return table;
}

}  // namespace

OpTimes time_ops(const RunConfig& config, const Ceilings& ceilings, const OpTimesOptions& options) {
  require(options.repetitions > 0, "ops are timed over {} runs", options.repetitions);
  Observer silent;
  RunSetup setup(config, {}, silent);
  setup.take_cores();
  auto loader = train_loader(setup.config, setup.data, setup.placement, 1);
  TimedTowers towers(setup);
  setup.keep_tuning(silent);
  loader->start(0, 0, 1);
  const Batch& batch = loader->next();
  loader->stop();  // reader threads take no time from the ops
  const Placement& placement = setup.placement;
  const PlacedDevice& device = placement.devices[static_cast<size_t>(placement.lane_device[0])];
  double share = 1.0 / static_cast<double>(ceilings.devices * device.lanes);
  OpTimes times{.device = to_string(device.id),
                .lanes = towers.lanes(),
                .threads = placement.lanes[0].threads,
                .samples = placement.batch_size,
                .precision = std::string(word_of(setup.config.precision)),
                .repetitions = options.repetitions,
                .flops_per_s = share * product_ceiling(ceilings, compute_dtype(setup.config)),
                .copy_bytes_per_s = share * ceilings.copy_bytes_per_s,
                .ops = {}};
  auto seconds = time_steps(towers, batch, options);
  for (size_t op = 0; op < seconds.size(); ++op) {
    const OpWork& work = towers.first().work()[op];
    double arithmetic = seconds_at(work.flops, share * product_ceiling(ceilings, work.type));
    double memory = seconds_at(work.bytes, times.copy_bytes_per_s);
    times.ops.push_back({work, median(seconds[op]), std::max(arithmetic, memory)});
  }
  return times;
}

std::string to_text(const OpTimes& times) {
  double step = sum_of(times.ops).seconds;
  return heading(times) + aligned_text(kinds_table(times.ops, step)) + "\n" +
         aligned_text(losses_table(times.ops, step));
}

}  // namespace spire
