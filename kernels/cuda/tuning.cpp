#include "kernels/cuda/tuning.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/base/hash.h"

namespace spire {
namespace {

constexpr std::string_view tuning_title = "spire tuning 1 ";

// Returns true for text without control characters, which would break the format of lines and tabs.
bool is_plain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

}  // namespace

const std::string* TuningChoices::find(const std::string& key) const {
  auto found = choices_.find(key);
  return found == choices_.end() ? nullptr : &found->second;
}

void TuningChoices::set(const std::string& key, const std::string& choice) {
  require(is_plain(key) && is_plain(choice), "tuning: '{}' and '{}' must be one line each", key,
          choice);
  choices_[key] = choice;
}

void TuningChoices::add_missing(const TuningChoices& others) {
  choices_.insert(others.choices_.begin(), others.choices_.end());
}

std::string TuningChoices::to_text() const {
  std::string lines;
  for (const auto& [key, choice] : choices_) lines += fmt::format("{}\t{}\n", key, choice);
  return fmt::format("{}{}\n{}", tuning_title, hex(hash64(lines.data(), lines.size())), lines);
}

TuningChoices TuningChoices::from_text(std::string_view text, Category category) {
  size_t end = text.find('\n');
  if (!text.starts_with(tuning_title) || end == std::string_view::npos)
    fail(category, "it does not begin with '{}'", tuning_title);
  std::string_view lines = text.substr(end + 1);
  if (text.substr(tuning_title.size(), end - tuning_title.size()) !=
      hex(hash64(lines.data(), lines.size())))
    fail(category, "it fails its checksum");
  TuningChoices choices;
  // The checksum only detects damage. A file made by hand may have any lines, so each is checked.
  while (!lines.empty()) {
    end = lines.find('\n');
    std::string_view line = lines.substr(0, end);
    size_t tab = line.find('\t');
    if (end == std::string_view::npos || tab == std::string_view::npos ||
        !is_plain(line.substr(0, tab)) || !is_plain(line.substr(tab + 1)))
      fail(category, "'{}' is not a key, a tab and a choice", line);
    choices.set(std::string(line.substr(0, tab)), std::string(line.substr(tab + 1)));
    lines.remove_prefix(end + 1);
  }
  return choices;
}

Tuning::Tuning(Options options)
    : chosen_(std::move(options.recorded)),
      cached_(std::move(options.cached)),
      plans_(std::move(options.plans)),
      measures_(options.measures) {}

std::optional<std::string> Tuning::find(const std::string& key) {
  if (const std::string* mine = chosen_.find(key)) return *mine;
  // A choice of an earlier run that this run uses becomes this run's: its checkpoints record it.
  const std::string* earlier = cached_.find(key);
  if (!earlier) return std::nullopt;
  chosen_.set(key, *earlier);
  return *earlier;
}

void Tuning::keep(const std::string& key, const std::string& engine, bool for_others) {
  if (chosen_.find(key)) replaced_.set(key, engine);
  chosen_.set(key, engine);
  // A choice without measurement is this run's alone.
  (for_others ? measured_ : unmeasured_).set(key, engine);
}

void Tuning::adopt(const TuningChoices& chosen) {
  // The other process's choices come first.
  TuningChoices all = chosen;
  all.add_missing(chosen_);
  chosen_ = std::move(all);
}

}  // namespace spire
