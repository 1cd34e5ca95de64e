#include "engine/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/system.h"
#include "engine/base/text.h"
#include "engine/base/write_file.h"
#include "engine/checkpoint/checkpoint_file.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step_";
constexpr std::string_view extension = ".h5";

// Returns 1000 for "step_00001000.h5"; nothing for a name of another form.
std::optional<int64_t> step_in(std::string_view name) {
  if (!name.starts_with(prefix) || !name.ends_with(extension)) return std::nullopt;
  name.remove_prefix(prefix.size());
  name.remove_suffix(std::min(extension.size(), name.size()));
  int64_t step = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  bool number = error == std::errc{} && end == name.data() + name.size() && step >= 0;
  return number ? std::optional(step) : std::nullopt;
}

// Whether save() writes under this name before it renames the file.
bool is_temporary(const fs::path& name) {
  std::string of = name.stem().string();
  return name.extension() == temporary_suffix && (step_in(of) || of == "latest" || of == "best");
}

// Removes a file. One that cannot be removed is left: it costs space, not a run.
bool discard(const fs::path& path) {
  std::error_code error;
  bool folder = fs::is_directory(fs::symlink_status(path, error));
  return !folder && fs::remove(path, error) && !error;
}

}  // namespace

LoadedCheckpoint load_checkpoint(const fs::path& path) {
  auto file = std::make_shared<const CheckpointFile>(path);
  return {path, file->metadata(), file, file->checked()};
}

CheckpointStore::CheckpointStore(fs::path directory, Retention retention)
    : directory_(std::move(directory)), retention_(std::move(retention)) {
  require(retention_.keep_last >= 1 && retention_.keep_every >= 0,
          "checkpoint store: keep_last {} must be at least 1, keep_every {} at least 0",
          retention_.keep_last, retention_.keep_every);
}

fs::path CheckpointStore::path_of(int64_t step) const {
  return directory_ / fmt::format("{}{:08}{}", prefix, step, extension);
}

bool CheckpointStore::owns(const fs::path& name) const {
  return !retention_.is_ours || retention_.is_ours(name.filename().string());
}

std::vector<fs::path> CheckpointStore::of_others() const {
  std::vector<fs::path> others;
  for (const CheckpointEntry& entry : list())
    if (!owns(entry.path)) others.push_back(entry.path);
  return others;
}

std::vector<CheckpointEntry> CheckpointStore::list() const {
  std::vector<CheckpointEntry> entries;
  for (const auto& name : list_folder(directory_, Category::checkpoint))
    if (auto step = step_in(name.string())) entries.push_back({*step, directory_ / name});
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  return entries;
}

// Reads a pointer. One that names no checkpoint, or one that is gone, counts as none.
std::optional<fs::path> CheckpointStore::follow(std::string_view pointer) const {
  auto text = read_file_if_there(directory_ / pointer, Category::checkpoint);
  std::string name = text ? text->substr(0, text->find('\n')) : "";
  if (!step_in(name)) return std::nullopt;
  std::error_code error;
  fs::path path = directory_ / name;
  bool there = fs::exists(path, error);
  if (error) fail(Category::checkpoint, "cannot look at {}: {}", path.string(), error.message());
  return there ? std::optional(path) : std::nullopt;
}

std::optional<fs::path> CheckpointStore::latest() const {
  return follow("latest");
}
std::optional<fs::path> CheckpointStore::best() const {
  return follow("best");
}

// In an order in which a run can resume after a kill anywhere: no pointer names a file that is not
// there yet.
fs::path CheckpointStore::save(const StateMetadata& state, const SavedTensors& tensors,
                               std::span<float> piece) const {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (error)
    throw PermanentError(
        category_of(error.value(), Category::checkpoint),
        fmt::format("cannot create {}: {}", printable(directory_.string()), error.message()));
  fs::path path = path_of(state.step);
  write_checkpoint(path, state, tensors, piece);
  std::string name = path.filename().string() + "\n";
  write_file_atomically(directory_ / "latest", name, Category::checkpoint);
  point_to_best(state.best_step);
  prune(state.step, state.best_step);
  return path;
}

// The best one may be older than the saved one: of a run that branched off, or went back to a step
// before a better one.
void CheckpointStore::point_to_best(int64_t step) const {
  fs::path path = path_of(step);
  if (step < 0 || best() == path || !is_there(path)) return;
  write_file_atomically(directory_ / "best", path.filename().string() + "\n", Category::checkpoint);
}

// Counts the newest from the saved step downwards. Later ones are remove_after()'s. The file of the
// best step may be missing, if its save failed: then `best` still points to an older one.
void CheckpointStore::prune(int64_t saved_step, int64_t best_step) const {
  std::vector<CheckpointEntry> entries = list();
  fs::path best_path = path_of(std::max<int64_t>(best_step, 0));
  if (best_step < 0 || !is_there(best_path)) best_path = best().value_or("");
  int64_t rollback = retention_.rollback_step ? retention_.rollback_step(saved_step) : -1;
  int64_t newer = 0;  // checkpoints seen at saved_step or below
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (!owns(entry->path) || entry->step > saved_step || ++newer <= retention_.keep_last) continue;
    bool milestone = retention_.keep_every > 0 && entry->step % retention_.keep_every == 0;
    bool needed = milestone || entry->step == rollback || entry->path == best_path;
    if (!needed) discard(entry->path);
  }
}

void CheckpointStore::take_from(const fs::path& other, int64_t step) const {
  fs::path to = path_of(step), from = other / to.filename();
  if (is_there(to) || !is_there(from)) return;
  RegularFile file(from, Category::checkpoint);
  AtomicWriter writer(to, Category::checkpoint);
  std::vector<std::byte> piece(std::min<uint64_t>(file.bytes(), uint64_t{1} << 20));
  for (uint64_t at = 0; at < file.bytes();) {
    size_t count = file.read_at(at, piece);
    if (count == 0) fail(Category::checkpoint, "{} became shorter", from.string());
    writer.write({reinterpret_cast<const char*>(piece.data()), count});
    at += count;
  }
  writer.commit();
}

// Goes down the names, but the metadata's step counts: a copied file may have another name.
std::optional<LoadedCheckpoint> CheckpointStore::newest_intact(const OnDamaged& on_damaged) const {
  std::optional<LoadedCheckpoint> newest;
  std::vector<CheckpointEntry> entries = list();
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (newest && entry->step <= newest->state.step) break;
    try {
      LoadedCheckpoint found = load_checkpoint(entry->path);
      int64_t step = found.state.step;
      if (step != entry->step && on_damaged)
        on_damaged(entry->path,
                   fmt::format("{}: is of step {}, which counts", entry->path.string(), step));
      if (!newest || step > newest->state.step) newest = std::move(found);
    } catch (const UnreadableFile&) {
      throw;  // it may be intact, and resuming from an older one would delete it
    } catch (const Error& error) {
      if (error.category() != Category::checkpoint) throw;
      if (on_damaged)
        on_damaged(entry->path, fmt::format("{}: skipped: {}", entry->path.string(), error.what()));
    }
  }
  return newest;
}

std::vector<fs::path> CheckpointStore::clear() const {
  std::vector<fs::path> removed = remove_after(-1);
  for (const char* pointer : {"latest", "best"})
    if (!follow(pointer) && discard(directory_ / pointer)) removed.push_back(directory_ / pointer);
  return removed;
}

// Checkpoints after `step` are of a future from which the resumed run may diverge.
std::vector<fs::path> CheckpointStore::remove_after(int64_t step, const fs::path& resumed) const {
  std::vector<fs::path> removed = sweep_temporaries();
  for (const auto& entry : list()) {
    bool goes =
        entry.step > step && entry.path.filename() != resumed.filename() && owns(entry.path);
    if (goes && discard(entry.path)) removed.push_back(entry.path);
  }
  return removed;
}

std::vector<fs::path> CheckpointStore::sweep_temporaries() const {
  std::vector<fs::path> removed;
  for (const auto& name : list_folder(directory_, Category::checkpoint)) {
    bool goes = is_temporary(name) && (!step_in(name.stem().string()) || owns(name.stem()));
    if (goes && discard(directory_ / name)) removed.push_back(directory_ / name);
  }
  return removed;
}

namespace {

constexpr const char* folder = "checkpoints";

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Returns the directory of a path, as it was written: "." for a plain name.
fs::path folder_of(const fs::path& path) {
  fs::path parent = path.parent_path();
  return parent.empty() ? "." : parent;
}

// Returns the path without a slash at its end, so that it has a file name.
fs::path trimmed(const fs::path& path) {
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

// Returns the run whose folder of checkpoints this is; nothing for another directory. The path may
// be ".", so the full name decides.
std::optional<fs::path> run_of_checkpoints(const fs::path& path) {
  if (trimmed(path).filename() == folder && !is_folder(path / folder))  // it may be a link
    return folder_of(trimmed(path));
  std::error_code error;
  fs::path full = trimmed(fs::weakly_canonical(fs::absolute(path, error), error));
  if (full.filename() != folder || is_folder(path / folder)) return {};
  return path.filename() == folder ? folder_of(path) : full.parent_path();
}

// Returns the run of a directory, which may be the run's own or its folder `checkpoints`.
fs::path run_of(const fs::path& directory) {
  return run_of_checkpoints(directory).value_or(directory);
}

// `latest` and `best` are text files beside the checkpoints; a user may also write them behind the
// run's directory.
bool is_pointer(const fs::path& path, const char* name) {
  if (path.filename() != name || is_folder(path)) return false;
  fs::path around = folder_of(path);
  return run_of_checkpoints(around).has_value() || is_folder(around / folder);
}

// Where a name leads.
struct Place {
  enum class Which { file, newest, best, best_or_newest };

  Which which = Which::file;
  fs::path run, file;  // empty: none

  CheckpointStore store() const { return CheckpointStore(run / folder, {}); }
};

Place place_of(const std::string& name, const fs::path& output, CheckpointChoice prefer) {
  using Which = Place::Which;
  if (name == "auto" || name == "latest") return {Which::newest, output, {}};
  if (name == "best") return {Which::best, output, {}};
  fs::path path = trimmed(name);
  if (is_folder(path))
    return {
        prefer == CheckpointChoice::best ? Which::best_or_newest : Which::newest, run_of(path), {}};
  if (is_pointer(path, "latest") || is_pointer(path, "best"))
    return {path.filename() == "best" ? Which::best : Which::newest, run_of(folder_of(path)), {}};
  if (is_there(path))  // a file, which need not lie in a run's folder
    return {Which::file, run_of_checkpoints(folder_of(path)).value_or(""), path};
  fail(Category::checkpoint,
       "{}: nothing is there; give the directory of a run, a checkpoint file, best or latest",
       path.string());
}

// A run with checkpoints of which none is intact is an error, also for `auto`: starting anew would
// delete them.
std::optional<LoadedCheckpoint> read_if_any(const Place& place,
                                            const CheckpointStore::OnDamaged& on_damaged) {
  using Which = Place::Which;
  if (place.which == Which::file) return load_checkpoint(place.file);
  if (place.which != Which::newest) {
    if (auto best = place.store().best()) return load_checkpoint(*best);
    if (place.which == Which::best) return {};
  }
  auto newest = place.store().newest_intact(on_damaged);
  if (!newest && !place.store().list().empty()) {
    fail(Category::checkpoint,
         "none of the checkpoints in {} is whole; look at the warnings above; to train anew give "
         "--overwrite in place of --resume",
         (place.run / folder).string());
  }
  return newest;
}

NamedCheckpoint load(const Place& place, const CheckpointStore::OnDamaged& on_damaged) {
  NamedCheckpoint named{place.run, read_if_any(place, on_damaged)};
  if (!named.checkpoint || !on_damaged) return named;
  const LoadedCheckpoint& found = *named.checkpoint;
  if (auto warning = unchecked_warning(found.path, found.checked)) on_damaged(found.path, *warning);
  return named;
}

}  // namespace

NamedCheckpoint load_named_if_any(const std::string& name, const fs::path& output,
                                  CheckpointChoice prefer,
                                  const CheckpointStore::OnDamaged& on_damaged) {
  return load(place_of(name, output, prefer), on_damaged);
}

NamedCheckpoint load_named(const std::string& name, const fs::path& output, CheckpointChoice prefer,
                           const CheckpointStore::OnDamaged& on_damaged) {
  Place place = place_of(name, output, prefer);
  NamedCheckpoint named = load(place, on_damaged);
  if (named.checkpoint) return named;
  if (place.which == Place::Which::best && !place.store().list().empty()) {
    fail(Category::checkpoint,
         "{} has no best checkpoint: nothing was evaluated, or it is gone; "
         "latest names the newest one",
         place.run.string());
  }
  fail(Category::checkpoint,
       "{} holds no checkpoint; train first, or name another run by its directory, or a checkpoint "
       "file",
       (place.run / folder).string());
}

}  // namespace spire
