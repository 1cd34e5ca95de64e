#include "kernels/cuda/tuning.h"

#include <algorithm>
#include <vector>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/read_file.h"
#include "engine/base/write_file.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view plan_title = "spire plan 1 ", suffix = ".plan";
constexpr size_t max_file_bytes = size_t{8} << 20, max_folder_bytes = size_t{256} << 20;

// Formats a file: "spire plan 1 <hash64 of the rest>", a line with the name, and the plan.
std::string to_text(const std::string& name, const std::string& plan) {
  std::string body = fmt::format("{}\n{}", name, plan);
  return fmt::format("{}{}\n{}", plan_title, hex(hash64(body.data(), body.size())), body);
}

// Parses a file. None if it is damaged or has another name: file names are hashes and may collide.
std::optional<std::string> plan_in(std::string_view text, const std::string& name) {
  size_t end = text.find('\n');
  if (!text.starts_with(plan_title) || end == std::string_view::npos) return std::nullopt;
  std::string_view body = text.substr(end + 1);
  if (text.substr(plan_title.size(), end - plan_title.size()) !=
      hex(hash64(body.data(), body.size())))
    return std::nullopt;
  if (!body.starts_with(name) || body.substr(name.size(), 1) != "\n") return std::nullopt;
  return std::string(body.substr(name.size() + 1));
}

struct File {
  fs::path path;
  uintmax_t bytes;
  fs::file_time_type written;
};

// Lists the plans of a folder. Files that vanish meanwhile are skipped.
std::vector<File> plans_in(const fs::path& folder) {
  std::vector<File> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() != suffix) continue;
    uintmax_t bytes = entry.file_size(error);
    if (!error) files.push_back({entry.path(), bytes, entry.last_write_time(error)});
  }
  return files;
}

}  // namespace

fs::path PlanStore::file_of(const std::string& name) const {
  return folder_ / (hex(hash64(name.data(), name.size())) + std::string(suffix));
}

std::optional<std::string> PlanStore::find(const std::string& name) {
  // Plans of this run come first: the folder has them only after write().
  auto mine = new_.find(name);
  if (mine != new_.end()) return ++found_, mine->second;
  if (folder_.empty()) return std::nullopt;
  std::optional<std::string> plan;
  try {
    auto text = read_file_if_there(file_of(name), Category::config, max_file_bytes);
    if (!text) return std::nullopt;
    plan = plan_in(*text, name);
  } catch (const Error&) {  // unreadable: counted as damaged, and made anew
  }
  ++(plan ? found_ : damaged_);
  return plan;
}

// A plan near the limit of a file would not be read again.
void PlanStore::keep(const std::string& name, std::string plan) {
  if (!folder_.empty() && plan.size() < max_file_bytes / 2) new_[name] = std::move(plan);
}

void PlanStore::write() {
  if (new_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail(Category::config, "{}: {}", folder_.string(), error.message());
  // Make room first, so that the folder never exceeds its limit.
  size_t bytes = 0;
  for (const auto& [name, plan] : new_) bytes += name.size() + plan.size();
  remove_oldest(max_folder_bytes - std::min(bytes, max_folder_bytes));
  for (const auto& [name, plan] : new_)
    write_file_atomically(file_of(name), to_text(name, plan), Category::config);
  new_.clear();
}

void PlanStore::remove_oldest(size_t max_bytes) const {
  std::vector<File> files = plans_in(folder_);
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.written > b.written; });
  uintmax_t kept = 0;
  for (const File& file : files) {
    std::error_code error;
    kept += file.bytes;
    if (kept > max_bytes) fs::remove(file.path, error);
  }
}

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
