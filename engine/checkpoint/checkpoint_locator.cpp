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

}  // namespace

CheckpointLocator::CheckpointLocator(const std::string& name, const fs::path& output,
                                     Prefer prefer) {
  if (name == "auto" || name == "latest") {
    run_ = output;
    which_ = Which::newest;
  } else if (name == "best") {
    run_ = output;
    which_ = Which::best;
  } else {
    find(trimmed(name), prefer);
  }
}

void CheckpointLocator::find(const fs::path& path, Prefer prefer) {
  if (is_folder(path)) {
    run_ = run_of(path);
    which_ = prefer == Prefer::best ? Which::best_or_newest : Which::newest;
  } else if (is_pointer(path, "latest") || is_pointer(path, "best")) {
    run_ = run_of(folder_of(path));
    which_ = path.filename() == "best" ? Which::best : Which::newest;
  } else if (is_there(path)) {  // a file, which need not lie in a run's folder
    file_ = path;
    run_ = run_of_checkpoints(folder_of(path)).value_or("");
  } else {
    fail(Category::checkpoint,
         "{}: nothing is there; give the directory of a run, a checkpoint file, best or latest",
         path.string());
  }
}

std::optional<LoadedCheckpoint> CheckpointLocator::best() const {
  auto path = store().best();
  if (!path) return {};
  return load_checkpoint(*path);
}

// A run with checkpoints of which none is intact is an error, also for `auto`: starting anew would
// delete them.
std::optional<LoadedCheckpoint> CheckpointLocator::read_if_any(
    const CheckpointStore::OnDamaged& on_damaged) const {
  if (which_ == Which::file) return load_checkpoint(file_);
  if (which_ != Which::newest) {
    if (auto found = best()) return found;
    if (which_ == Which::best) return {};
  }
  auto newest = store().newest_intact(on_damaged);
  if (!newest && !store().list().empty()) {
    fail(Category::checkpoint,
         "none of the checkpoints in {} is whole; look at the warnings above; to train anew give "
         "--overwrite in place of --resume",
         (run_ / folder).string());
  }
  return newest;
}

std::optional<LoadedCheckpoint> CheckpointLocator::load_if_any(
    const CheckpointStore::OnDamaged& on_damaged) const {
  auto found = read_if_any(on_damaged);
  if (!found || !on_damaged) return found;
  if (auto warning = unchecked_warning(found->path, found->checked))
    on_damaged(found->path, *warning);
  return found;
}

LoadedCheckpoint CheckpointLocator::load(const CheckpointStore::OnDamaged& on_damaged) const {
  if (auto found = load_if_any(on_damaged)) return std::move(*found);
  if (which_ == Which::best && !store().list().empty()) {
    fail(Category::checkpoint,
         "{} has no best checkpoint: nothing was evaluated, or it is gone; "
         "latest names the newest one",
         run_.string());
  }
  fail(Category::checkpoint,
       "{} holds no checkpoint; train first, or name another run by its directory, or a checkpoint "
       "file",
       (run_ / folder).string());
}

}  // namespace spire
