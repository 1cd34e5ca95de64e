// The fields of bench.json, listed once: `fields` calls archive(name, member) for each member, so
// that one list serves the writer and the reader. Object: the structure, const for writers.
#pragma once
#include <type_traits>

#include "engine/observe/records.h"
#include "tools/bench/report/bench_report.h"

namespace spire {

template <typename Object, typename Structure>
concept Is = std::is_same_v<std::remove_const_t<Object>, Structure>;

void fields(auto& archive, Is<Variant> auto& variant) {
  archive("scaling", variant.scaling);
  archive("kind", variant.kind);
  archive("devices", variant.devices);
  archive("processes", variant.processes);
  archive("towers", variant.towers);
  archive("precision", variant.precision);
  archive("strategy", variant.strategy);
}

void fields(auto& archive, Is<StepTimes> auto& times) {
  for (const StepPart& part : step_parts) archive(part.name.data(), times.*part.seconds);
}

void fields(auto& archive, Is<Measurement> auto& round) {
  archive("samples_per_s", round.samples_per_s);
  archive("step_seconds", round.step_seconds);
  archive("first_step_seconds", round.first_step_seconds);
  archive("times", round.times);
  archive("parameter_hash", round.parameter_hash);
  archive("planned_memory", round.planned_memory);
  archive("peak_memory", round.peak_memory);
  archive("peak_rss", round.peak_rss);
  archive("joules", round.joules);
  archive("others_cores", round.others_cores);
}

void fields(auto& archive, Is<Ceilings> auto& ceilings) {
  archive("kind", ceilings.kind);
  archive("devices", ceilings.devices);
  archive("threads", ceilings.threads);
  archive("fp32_flops_per_s", ceilings.fp32_flops_per_s);
  archive("bf16_flops_per_s", ceilings.bf16_flops_per_s);
  archive("fp16_flops_per_s", ceilings.fp16_flops_per_s);
  archive("copy_bytes_per_s", ceilings.copy_bytes_per_s);
  archive("all_reduce_bytes_per_s", ceilings.all_reduce_bytes_per_s);
}

void fields(auto& archive, Is<Point> auto& point) {
  archive("variant", point.variant);
  archive("rounds", point.rounds);
  archive("error", point.error);
}

void fields(auto& archive, Is<Machine> auto& machine) {
  archive("host", machine.host);
  archive("system", machine.system);
  archive("cpu", machine.cpu);
  archive("cores", machine.cores);
  archive("instructions", machine.instructions);
  archive("gpus", machine.gpus);
}

void fields(auto& archive, Is<BenchReport> auto& report) {
  archive("date", report.date);
  archive("spire", report.spire);
  archive("command", report.command);
  archive("machine", report.machine);
  archive("energy", report.energy);
  archive("model", report.model);
  archive("parameters", report.parameters);
  archive("batch_size", report.batch_size);
  archive("flops_per_sample", report.flops_per_sample);
  archive("steps", report.steps);
  archive("warmup", report.warmup);
  archive("data", report.data);
  archive("config", report.config);
  archive("reduction", report.reduction);
  archive("ceilings", report.ceilings);
  archive("points", report.points);
}

}  // namespace spire
