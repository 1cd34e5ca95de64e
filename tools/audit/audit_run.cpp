#include "tools/audit/audit_run.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <utility>

#include <fmt/format.h>

#include <spire/load_config.h>

#include "engine/base/text.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/run/audit/audit_root.h"
#include "engine/run/run_checkpoints.h"

namespace spire {
namespace {

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

// All keys that the root has, and the devices of an audit: all that are here of the run's kind.
// `given` wins.
std::vector<std::string> words_of(const RecordedRoot& root, const std::vector<std::string>& given) {
  std::vector<std::string> words;
  for (const auto& [key, value] : config_of(root))
    if (find_field(key)) words.push_back(fmt::format("{}={}", key, value));
  if (std::none_of(given.begin(), given.end(), names_devices)) {
    words.push_back("devices=" + device_of(root));
    words.emplace_back("parameter_device=auto");
  }
  words.insert(words.end(), given.begin(), given.end());
  return words;
}

// Appends the differences of another root to those of a segment.
void add(RootCheck more, RootCheck& check) {
  for (std::string& text : more.differences)
    if (std::ranges::find(check.differences, text) == check.differences.end())
      check.differences.push_back(std::move(text));
  check.other_run = check.other_run || more.other_run;
}

}  // namespace

RunAuditor::RunAuditor(const std::filesystem::path& directory,
                       const std::vector<std::string>& overrides)
    : overrides_(overrides),
      run_(read_run_records(directory, overrides)),
      log_(run_.log ? std::move(*run_.log) : read_audit_log(directory / "audit.jsonl")),
      lines_(read_metrics_lines(directory / "metrics.jsonl")),
      numbers_(lines_) {
  run_.log.reset();
  for (const auto& [step, record] : log_.records)
    if (record.left_out && rolled_back(step)) rollbacks_.push_back(step);
}

// The steps from which a replay may begin: something of them is recorded behind.
std::vector<int64_t> RunAuditor::starts() const {
  std::vector<int64_t> steps;
  auto suits = [&](int64_t step) { return log_.root_after(step) && end_of_replay(step) > step; };
  if (log_.first == 0 && suits(0)) steps.push_back(0);
  for (const auto& [step, path] : run_.checkpoints)
    if (step > 0 && step >= log_.first && suits(step)) steps.push_back(step);
  return steps;
}

// Whether the run went back from this step, which it left out, to an earlier checkpoint.
bool RunAuditor::rolled_back(int64_t step) const {
  const RecordedRoot* root = log_.root_after(step - 1);
  auto keys = root ? spire::config_of(*root) : std::map<std::string, std::string>();
  auto policy = keys.find("guard.on_bad_step");
  return policy != keys.end() && policy->second == "rollback" &&
         regular_checkpoint_before(run_.config.checkpoint, run_.steps_per_epoch, step) > 0;
}

// No replay follows a rollback.
int64_t RunAuditor::end_of_replay(int64_t from) const {
  auto next = std::ranges::upper_bound(rollbacks_, from);
  return next == rollbacks_.end() ? log_.last : *next - 1;
}

std::vector<AuditSegment> RunAuditor::unreachable() const {
  std::vector<AuditSegment> segments;
  std::vector<int64_t> begins = starts();
  int64_t reached = log_.first;  // by replays from checkpoints up to here
  auto begin = begins.begin();
  for (const auto& [step, record] : log_.records) {
    for (; begin != begins.end() && *begin < step; ++begin)
      reached = std::max(reached, end_of_replay(*begin));
    if (step <= reached && !begins.empty()) continue;
    if (!segments.empty() && segments.back().to == step - 1)
      segments.back().to = step;
    else
      segments.push_back({step - 1, step});
  }
  return segments;
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
         known.empty() ? "the run has no checkpoint behind which it recorded steps that a replay "
                         "reaches"
                       : fmt::format("use {}", fmt::join(known, ", ")));
  int64_t end = end_of_replay(*step);
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
        std::min(end_of_replay(begins[i]), i + 1 < begins.size() ? begins[i + 1] : log_.last);
    segments.push_back({begins[i], steps > 0 ? std::min(end, begins[i] + steps) : end});
  }
  std::mt19937_64 random(seed);
  size_t chosen = std::min(segments.size(), static_cast<size_t>(count));
  for (size_t i = 0; i < chosen; ++i)
    std::swap(segments[i], segments[i + random() % (segments.size() - i)]);
  segments.resize(chosen);
  return segments;
}

// The root has all keys that decide bits. The others are those of the next checkpoint, as a resumed
// run may have changed them.
RunConfig RunAuditor::config_of(int64_t from) const {
  const RecordedRoot* root = log_.root_after(from);
  if (!root)
    fail(Category::config,
         "audit.jsonl has no root for step {}, as the run was resumed in another directory; audit "
         "the one where it began",
         from + 1);
  std::vector<std::string> words = words_of(*root, overrides_);
  auto next = run_.checkpoints.upper_bound(from);
  if (next == run_.checkpoints.end() || next->first > log_.end_of_root(from))
    next = run_.checkpoints.find(from);
  if (next == run_.checkpoints.end()) return read_run_records(run_.directory, words).config;
  const std::string path = next->second.string();
  return parse_config({{path, load_checkpoint(path).state.config_yaml}}, words).config;
}

// Where another root begins, the replay goes on with that one's config.
SegmentAudit RunAuditor::audit(AuditSegment segment, const AuditHooks& hooks) const {
  SegmentAudit audit{.segment = segment};
  std::optional<LoadedCheckpoint> from;
  if (segment.from > 0) from = load_checkpoint(run_.checkpoints.at(segment.from));
  RunConfig config;
  auto start = [&](int number) {
    return ReplayStart{config, from, hooks ? hooks(number) : ReplayHooks{}};
  };
  int64_t at = segment.from;
  for (bool done = false; !done;) {
    config = config_of(at);
    Replay replay(config, from, start(0).hooks);
    check_start(replay, audit);
    int64_t end = std::min(segment.to, log_.end_of_root(at));
    if (!audit.difference) this->replay(replay, end, audit);
    audit.segment.to = replay.step();
    done = audit.difference || end == segment.to;
    if (done) break;
    from = replay.checkpoint();
    at = end;
  }
  if (audit.difference && audit.difference->step > at)
    audit.replays = compare_replays(start(1), start(2), audit.difference->step);
  return audit;
}

// Root and weights where the replay begins.
void RunAuditor::check_start(Replay& replay, SegmentAudit& audit) const {
  int64_t from = replay.step();
  int64_t every = weights_interval(replay.setup().config.audit, replay.layout().parameter_count());
  add(check_root(log_.root_after(from)->text, replay.setup(), every), audit.root);
  audit.difference = root_difference(replay);
  auto record = log_.records.find(from);
  if (audit.difference || record == log_.records.end() || record->second.weights.empty()) return;
  AuditRecord recorded{.step = from, .weights = record->second.weights};
  AuditRecord computed{.step = from, .weights = replay.tensor_hashes()};
  audit.difference = record_difference(recorded, computed, tensor_names(replay.layout()), from);
}

// A root has the weights of its step.
std::optional<TensorDifference> RunAuditor::root_difference(Replay& replay) const {
  auto root = log_.roots.find(replay.step());
  if (root == log_.roots.end()) return {};
  AuditRecord recorded{.step = replay.step(), .weights = root->second.weights};
  AuditRecord computed{.step = replay.step(), .weights = replay.tensor_hashes()};
  auto found = record_difference(recorded, computed, tensor_names(replay.layout()), replay.step());
  if (found) found->note = "in the root that stands there";
  if (!found && recorded.weights.size() != computed.weights.size())
    found = TensorDifference{.step = replay.step(),
                             .tensor = "the weights of the root that stands there",
                             .a = counted(std::ssize(recorded.weights), "hash"),
                             .b = counted(std::ssize(computed.weights), "hash")};
  return found;
}

void RunAuditor::replay(Replay& replay, int64_t end, SegmentAudit& audit) const {
  int64_t confirmed = replay.step();
  while (replay.step() < end && !audit.difference) {
    int64_t step = replay.step() + 1;
    auto found = log_.records.find(step);
    if (found == log_.records.end()) {
      audit.difference =
          TensorDifference{.step = step, .tensor = "the record", .a = "missing", .b = "computed"};
      break;
    }
    audit.difference = step_difference(replay, found->second, confirmed);
    if (!found->second.weights.empty()) confirmed = step;
  }
}

std::optional<TensorDifference> RunAuditor::step_difference(Replay& replay,
                                                            const AuditRecord& recorded,
                                                            int64_t confirmed) const {
  AuditRecord computed = replay.next_record(!recorded.weights.empty());
  auto found = record_difference(recorded, computed, tensor_names(replay.layout()), confirmed);
  if (!found) found = root_difference(replay);
  if (!found) found = checkpoint_difference(replay);
  if (!found) found = numbers_.difference(replay, computed, log_.last);
  return found;
}

std::optional<TensorDifference> RunAuditor::checkpoint_difference(Replay& replay) const {
  auto found = run_.checkpoints.find(replay.step());
  if (found == run_.checkpoints.end()) return {};
  LoadedCheckpoint saved = load_checkpoint(found->second);
  auto difference = first_difference(replay.step(), *saved.tensors, replay.state());
  if (!difference) difference = metadata_difference(saved.state, replay);
  if (difference) difference->note = "in the checkpoint " + found->second.filename().string();
  return difference;
}

std::string to_text(const SegmentAudit& audit) {
  std::string text;
  for (const std::string& line : audit.root.differences)
    text += fmt::format("not as in the run: {}\n", line);
  std::string begin = audit.segment.from > 0 ? fmt::format("step {}", audit.segment.from)
                                             : std::string("the beginning");
  text += fmt::format("replayed from {} to step {}: ", begin, audit.segment.to);
  if (!audit.difference)
    return text + fmt::format("equal, {}{}\n",
                              counted(audit.segment.to - audit.segment.from, "step"),
                              audit.root.other_run
                                  ? ", but the chain's root says that config or data were others"
                                  : "");
  text += fmt::format("different\nfirst difference: {}\n  run     {}\n  replay  {}\n",
                      place_text(*audit.difference), audit.difference->a, audit.difference->b);
  if (!audit.replays)
    return text + "further replays agree with each other: " +
           (audit.root.other_run
                ? "the chain's root says that config or data were others\n"
                : "the run did not compute what its config says, or this machine computes "
                  "otherwise\n");
  return text + fmt::format(
                    "but two replays here differ, so this machine is at fault: {}\n  first   {}\n"
                    "  second  {}\n",
                    place_text(*audit.replays), audit.replays->a, audit.replays->b);
}

}  // namespace spire
