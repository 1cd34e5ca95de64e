#include "engine/checkpoint/checkpoint_locator.h"

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/checkpoint/checkpoint_file.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

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
