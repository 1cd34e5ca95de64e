#include "engine/train/tuning_cache.h"

#include <cstdlib>
#include <cstring>
#include <sys/file.h>

#include <unistd.h>

#include <spire/error.h>

#include "engine/base/read_file.h"
#include "engine/base/write_file.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_bytes = 64 << 20;  // a choice takes 300

// The XDG specification ignores relative paths.
fs::path folder_named_by(const char* variable) {
  const char* value = std::getenv(variable);
  fs::path path = value ? value : "";
  return path.is_absolute() ? path : fs::path();
}

// Locks the cache while it is read, changed and written. The lock is a separate, empty file, which
// stays: the cache itself is replaced under its name. It is locked while a few KB are written.
class CacheLock {
 public:
  explicit CacheLock(const fs::path& path) {
    std::string name = path.string() + ".lock";
    descriptor_ = open_in_place(name, Category::config);
    while (::flock(descriptor_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      if (errno == ENOLCK || errno == EOPNOTSUPP) return;  // a disk without locks
      int reason = errno;
      ::close(descriptor_);
      errno = reason;
      refuse(name);
    }
  }
  ~CacheLock() { ::close(descriptor_); }
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;

 private:
  [[noreturn]] static void refuse(const std::string& name) {
    fail(Category::config, "{}: {}", name, std::strerror(errno));
  }
  int descriptor_ = -1;
};

void make_folder_of(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (error) fail(Category::config, "{}: {}", path.parent_path().string(), error.message());
}

}  // namespace

fs::path tuning_cache_path(const std::string& word) {
  if (word == "none") return {};
  if (word != "auto") return word;
  fs::path folder = folder_named_by("XDG_CACHE_HOME");
  if (folder.empty() && !folder_named_by("HOME").empty())
    folder = folder_named_by("HOME") / ".cache";
  return folder.empty() ? fs::path() : folder / "spire" / "tuning.txt";
}

TuningCacheContent read_tuning_cache(const fs::path& path) {
  if (path.empty()) return {};
  std::optional<std::string> text;
  try {
    text = read_file_if_there(path, Category::config, max_bytes);
  } catch (const Error& unread) {
    return {{}, unread.what()};
  }
  try {
    if (!text) return {};
    return {TuningChoices::from_text(*text, Category::config), ""};
  } catch (const std::exception& bad) {
    return {{}, fmt::format("{}: {}", path.string(), bad.what())};
  }
}

fs::path plan_folder(const fs::path& path) {
  return path.empty() ? path : fs::path(path.string() + ".plans");
}

void add_plans_to_cache(const fs::path& path, PlanStore& plans) {
  if (!plans.has_new()) return;
  make_folder_of(path);
  CacheLock lock(path);
  plans.write();
}

// Runs that end at a time add to the same file: it is read again under the lock. A damaged file is
// replaced, as its content is empty.
void add_to_tuning_cache(const fs::path& path, const Tuning& tuning) {
  make_folder_of(path);
  CacheLock lock(path);
  // In order of precedence: replacements, the file, the rest of this run's.
  TuningChoices all, file = read_tuning_cache(path).choices;
  for (const auto& [key, engine] : tuning.measured())
    if (tuning.replaced().find(key)) all.set(key, engine);
  all.add_missing(file);
  all.add_missing(tuning.measured());
  write_file_atomically(path, all.to_text(), Category::config);
}

}  // namespace spire
