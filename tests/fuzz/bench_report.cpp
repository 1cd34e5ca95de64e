// Reports of benchmarks: bench.json, compared with itself and shown as a table.
#include "engine/base/fail.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/tools/bench/sample_report.h"
#include "tools/bench/report/bench_compare.h"
#include "tools/bench/report/bench_files.h"
#include "tools/bench/report/bench_table.h"

namespace spire::fuzz {

int consume(const uint8_t* data, size_t size) {
  std::string text(data, data + size);
  BenchReport report;
  int verdict =
      parse_or_refuse(Category::config, [&] { report = parse_bench_json(text, "fuzz.json"); });
  if (verdict == refused) return refused;
  std::string written = bench_json(report);
  require(bench_json(parse_bench_json(written, "again.json")) == written,
          "a report reads back as another");
  require(!compare_reports(report, report).empty(), "no comparison");
  require(!table_text(report).empty() || report.points.empty(), "no table");
  return accepted;
}

std::vector<Bytes> seeds() {
  BenchReport small = sample_report({.devices = {1, 2},
                                     .precisions = {Precision::bf16},
                                     .strategies = {Strategy::mirrored},
                                     .scalings = {Scaling::strong},
                                     .rounds = 2});
  small.points[0].rounds[0].joules = 12.5;
  small.points[1].rounds.clear();
  small.points[1].error = "cuda:1 is lost";
  small.machine.gpus = {"GPU"};
  BenchReport native = sample_report({.devices = {1}, .scalings = {Scaling::weak}, .rounds = 1});
  native.reduction = RunConfig::Reduction::native;
  return {bytes_of(bench_json(small)), bytes_of(bench_json(native)), bytes_of(bench_json({}))};
}

}  // namespace spire::fuzz
