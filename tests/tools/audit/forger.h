// Changes the records of a run as someone would who wants an audit to pass: all that a file says of
// another one is made to fit.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/base/hash.h"
#include "engine/checkpoint/checkpoint_file.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "tests/tools/audit/audit_fixture.h"

namespace spire {

class Forger {
 public:
  using Json = nlohmann::ordered_json;

  explicit Forger(std::filesystem::path run) : run_(std::move(run)) {
    for (const std::string& line : lines_of(run_ / "audit.jsonl"))
      chain.push_back(Json::parse(split_chained(line)->text));
    for (const std::string& line : lines_of(run_ / "metrics.jsonl"))
      metrics.push_back(Json::parse(line));
    for (const CheckpointEntry& entry : CheckpointStore(run_ / "checkpoints", {}).list())
      checkpoints[entry.step] = read_checkpoint(entry.path);
  }

  // The root at a step, and the record of one.
  Json& root(int64_t step) { return find(step, "root"); }
  Json& record(int64_t step) { return find(step, "towers"); }
  // Adds a root at that step, with the weights that the step's record has.
  void add_root(int64_t step, const Json& root) {
    auto at = std::ranges::find_if(
        chain, [&](const Json& line) { return line["step"] == step && line.contains("towers"); });
    Json line = {{"step", step}, {"root", root}, {"weights", (*at)["weights"]}};
    chain.insert(at + 1, line);
  }
  Json& line(int64_t step, const char* key) {
    return *std::ranges::find_if(
        metrics, [&](const Json& line) { return line["step"] == step && line.contains(key); });
  }

  // Chains all lines anew and writes every file.
  void write() {
    std::vector<std::string> lines;
    std::map<int64_t, std::string> values;  // behind the record of a step
    std::string value, root;
    for (const Json& json : chain) {
      std::string line = json.dump();
      chain_line(line, value);
      lines.push_back(line.substr(0, line.size() - 1));
      if (json.contains("root")) root = digest({json["root"].dump()});
      auto step = json["step"].get<int64_t>();
      if (json.contains("towers"))
        values[step] = value + " " + root;
      else
        values.try_emplace(step, value + " " + root);
    }
    write_lines(run_ / "audit.jsonl", lines);
    lines.clear();
    for (Json& json : metrics) {
      if (json.contains("train/chain"))
        json["train/chain"] = values.at(json["step"].get<int64_t>()).substr(0, digest_digits);
      lines.push_back(json.dump());
    }
    write_lines(run_ / "metrics.jsonl", lines);
    write_summary(value);
    for (auto& [step, state] : checkpoints) {
      state.audit = values.at(step);
      write_checkpoint(CheckpointStore(run_ / "checkpoints", {}).path_of(step), state);
    }
  }

  std::vector<Json> chain;    // the lines of audit.jsonl, without their values
  std::vector<Json> metrics;  // those of metrics.jsonl
  std::map<int64_t, TrainingState> checkpoints;

 private:
  Json& find(int64_t step, const char* key) {
    return *std::ranges::find_if(
        chain, [&](const Json& line) { return line["step"] == step && line.contains(key); });
  }

  void write_summary(const std::string& value) const {
    std::filesystem::path path = run_ / "summary.json";
    Json summary = Json::parse(std::ifstream(path));
    summary["chain"] = value;
    std::ofstream(path) << summary;
  }

  std::filesystem::path run_;
};

}  // namespace spire
