#include "kernels/autotune/tuning_choices.h"

#include <algorithm>

#include "engine/base/hash.h"

namespace spire::inline kernels {
namespace {

constexpr std::string_view title = "spire tuning 1 ";

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
  return fmt::format("{}{}\n{}", title, hex(hash64(lines.data(), lines.size())), lines);
}

TuningChoices TuningChoices::from_text(std::string_view text, Category category) {
  size_t end = text.find('\n');
  if (!text.starts_with(title) || end == std::string_view::npos)
    fail(category, "it does not begin with '{}'", title);
  std::string_view lines = text.substr(end + 1);
  if (text.substr(title.size(), end - title.size()) != hex(hash64(lines.data(), lines.size())))
    fail(category, "it fails its checksum");
  TuningChoices choices;
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

}  // namespace spire::inline kernels
