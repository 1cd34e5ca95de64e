#include "engine/run/audit/audit_run.h"

#include <algorithm>
#include <charconv>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spire/load_config.h>
#include <spire/text.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/run/audit/audit_root.h"
#include "engine/run/audit/record_difference.h"

namespace spire::inline run {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> tensor_names(const ParameterLayout& layout) {
  std::vector<std::string> names;
  for (const ParameterEntry* entry : layout.by_name()) names.push_back(entry->name);
  return names;
}

std::optional<int64_t> parse_step(const std::string& text) {
  int64_t step = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return step;
}

bool names_devices(const std::string& word) {
  return word.starts_with("devices=");
}

// The keys that a run without checkpoints has settled itself, and the devices of an audit: all that
// are here of the run's kind. `given` wins.
std::vector<std::string> with_settled(const RecordedRoot& root,
                                      const std::vector<std::string>& given) {
  Json json = Json::parse(root.text);
  std::vector<std::string> words;
  for (const char* key : {"batch_size", "global_batch", "towers", "tower_threads"})
    if (json["config"].contains(key))
      words.push_back(fmt::format("{}={}", key, json["config"][key].get<std::string>()));
  if (std::none_of(given.begin(), given.end(), names_devices)) {
    words.push_back("devices=" + json["device"].get<std::string>());
    words.emplace_back("parameter_device=auto");
  }
  words.insert(words.end(), given.begin(), given.end());
  return words;
}

}  // namespace

RunAuditor::RunAuditor(const std::filesystem::path& directory,
                       const std::vector<std::string>& overrides)
    : overrides_(overrides),
      run_(read_run_records(directory, overrides)),
      log_(read_audit_log(directory / "audit.jsonl")) {}

// The steps from which a replay may begin: something of them is recorded behind.
std::vector<int64_t> RunAuditor::starts() const {
  std::vector<int64_t> steps;
  if (log_.first == 0 && log_.last > 0) steps.push_back(0);
  for (const auto& [step, path] : run_.checkpoints)
    if (step > 0 && step >= log_.first && step < log_.last) steps.push_back(step);
  return steps;
}

AuditSegment RunAuditor::segment(const std::string& from, int64_t steps) {
  std::optional<int64_t> step = parse_step(from);
  if (!step) {
    step = load_checkpoint(from).state.step;
    run_.checkpoints[*step] = from;
  }
  std::vector<int64_t> known = starts();
  if (std::find(known.begin(), known.end(), *step) == known.end())
    fail(Category::config, "--from {}: no replay can begin there; {}", from,
         known.empty() ? "the run has no checkpoint behind which it recorded steps"
                       : fmt::format("use {}", fmt::join(known, ", ")));
  int64_t end = log_.end_of_root(*step);
  return {*step, steps > 0 ? std::min(end, *step + steps) : end};
}

std::vector<AuditSegment> RunAuditor::random_segments(int64_t count, int64_t steps,
                                                      uint64_t seed) const {
  std::vector<int64_t> begins = starts();
  if (begins.empty())
    fail(Category::config,
         "the run has no checkpoint behind which it recorded steps: nothing can be replayed; "
         "train with checkpoint.every_steps");
  std::vector<AuditSegment> segments;
  for (size_t i = 0; i < begins.size(); ++i) {
    int64_t end =
        std::min(log_.end_of_root(begins[i]), i + 1 < begins.size() ? begins[i + 1] : log_.last);
    segments.push_back({begins[i], steps > 0 ? std::min(end, begins[i] + steps) : end});
  }
  std::mt19937_64 random(seed);
  size_t chosen = std::min(segments.size(), static_cast<size_t>(count));
  for (size_t i = 0; i < chosen; ++i)
    std::swap(segments[i], segments[i + random() % (segments.size() - i)]);
  segments.resize(chosen);
  return segments;
}

// A resumed run may have another config than before, and its checkpoints have it from the next one
// on: that one has the config of the steps behind `from`.
RunConfig RunAuditor::config_of(int64_t from) const {
  const RecordedRoot* root = log_.root_at(from);
  if (!root)
    fail(Category::config,
         "audit.jsonl has no root for step {}, as the run was resumed in another directory; audit "
         "the one where it began",
         from + 1);
  std::vector<std::string> words = with_settled(*root, overrides_);
  auto next = run_.checkpoints.upper_bound(from);
  if (next == run_.checkpoints.end() || next->first > log_.end_of_root(from))
    next = run_.checkpoints.find(from);
  if (next == run_.checkpoints.end()) return read_run_records(run_.directory, words).config;
  const std::string path = next->second.string();
  return parse_config({{path, load_checkpoint(path).state.config_yaml}}, words).config;
}

SegmentAudit RunAuditor::audit(AuditSegment segment, const AuditHooks& hooks) const {
  SegmentAudit audit{.segment = segment};
  RunConfig config = config_of(segment.from);
  auto start = [&](int number) {
    auto path = run_.checkpoints.find(segment.from);
    std::optional<std::filesystem::path> checkpoint;
    if (segment.from > 0) checkpoint = path->second;
    return ReplayStart{config, checkpoint, hooks ? hooks(number) : ReplayHooks{}};
  };
  {
    ReplayStart first = start(0);
    Replay replay(first.config, first.checkpoint, first.hooks);
    check_start(replay, audit);
    if (!audit.difference) this->replay(replay, audit);
  }
  if (audit.difference && audit.difference->step > segment.from)
    audit.replays = compare_replays(start(1), start(2), audit.difference->step);
  return audit;
}

// Root and weights where the segment begins.
void RunAuditor::check_start(Replay& replay, SegmentAudit& audit) const {
  int64_t from = audit.segment.from;
  int64_t every = weights_interval(replay.setup().config.audit, replay.layout().parameter_count());
  const RecordedRoot& root = *log_.root_at(from);
  audit.root = root_differences(root.text, root_text(replay.setup(), every));
  AuditRecord recorded{.step = from}, computed{.step = from};
  auto record = log_.records.find(from);
  if (auto here = log_.roots.find(from); here != log_.roots.end())
    recorded.weights = here->second.weights;
  else if (record != log_.records.end())
    recorded.weights = record->second.weights;
  if (recorded.weights.empty()) return;
  computed.weights = replay.tensor_hashes();
  audit.difference = record_difference(recorded, computed, tensor_names(replay.layout()), from);
  audit.segment.to = audit.difference ? from : audit.segment.to;
}

void RunAuditor::replay(Replay& replay, SegmentAudit& audit) const {
  std::vector<std::string> names = tensor_names(replay.layout());
  int64_t confirmed = audit.segment.from;
  while (replay.step() < audit.segment.to && !audit.difference) {
    int64_t step = replay.step() + 1;
    auto found = log_.records.find(step);
    if (found == log_.records.end()) {
      audit.difference =
          TensorDifference{.step = step, .tensor = "the record", .a = "missing", .b = "computed"};
      break;
    }
    const AuditRecord& recorded = found->second;
    AuditRecord computed = replay.next_record(!recorded.weights.empty());
    audit.difference = record_difference(recorded, computed, names, confirmed);
    if (!audit.difference) audit.difference = checkpoint_difference(replay);
    if (!recorded.weights.empty()) confirmed = step;
  }
  audit.segment.to = replay.step();
}

std::optional<TensorDifference> RunAuditor::checkpoint_difference(Replay& replay) const {
  auto found = run_.checkpoints.find(replay.step());
  if (found == run_.checkpoints.end()) return {};
  LoadedCheckpoint saved = load_checkpoint(found->second);
  auto element = first_difference(*saved.tensors, replay.state());
  if (!element) return {};
  return TensorDifference{.step = replay.step(),
                          .tensor = element->tensor,
                          .element = element->element,
                          .a = fmt::format("{}", element->a),
                          .b = fmt::format("{}", element->b),
                          .note = "in the checkpoint " + found->second.filename().string()};
}

std::string to_text(const SegmentAudit& audit) {
  std::string text;
  for (const std::string& line : audit.root) text += fmt::format("not as in the run: {}\n", line);
  std::string begin = audit.segment.from > 0 ? fmt::format("step {}", audit.segment.from)
                                             : std::string("the beginning");
  text += fmt::format("replayed from {} to step {}: ", begin, audit.segment.to);
  if (!audit.difference)
    return text +
           fmt::format("equal, {}\n", counted(audit.segment.to - audit.segment.from, "step"));
  text += fmt::format("different\nfirst difference: {}\n  run     {}\n  replay  {}\n",
                      place_text(*audit.difference), audit.difference->a, audit.difference->b);
  if (!audit.replays)
    return text +
           "further replays agree with each other: the run did not compute what its config "
           "says, or this machine computes otherwise\n";
  return text + fmt::format(
                    "but two replays here differ, so this machine is at fault: {}\n  first   {}\n"
                    "  second  {}\n",
                    place_text(*audit.replays), audit.replays->a, audit.replays->b);
}

}  // namespace spire::inline run
