#include "engine/train/run_tuning.h"

#include <cstdlib>
#include <cstring>
#include <sys/file.h>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"
#include "engine/base/write_file.h"
#include "engine/device/gpu_requirements.h"
#include "kernels/cuda/engine_choice.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

TuningChoices recorded_choices(const std::string& text) {
  if (text.empty()) return {};
  try {
    return TuningChoices::from_text(text, Category::checkpoint);
  } catch (const Error& error) {
    fail(Category::checkpoint, "the checkpoint's record of engines: {}; set cuda.autotune=false",
         error.what());
  }
}

void note_native_kernels(const Tuning& tuning, Observer& observer) {
  std::vector<std::string> own;
  // An operation without rivals is not measured.
  for (const auto& [key, engine] : tuning.unmeasured()) {
    if (is_native(engine)) own.push_back(key);
  }
  if (own.empty()) return;
  observer.on_note(fmt::format(
      "no cuDNN engine was found for {}, which Spire's own kernels compute, usually more slowly "
      "(cuDNN's attention needs the library libnvrtc): {}{}",
      counted(std::ssize(own), "operation"), own[0], own.size() == 1 ? "" : ", ..."));
}

void note_plans(const PlanStore& plans, Observer& observer) {
  if (plans.prepared() == 0) return;
  std::string damaged =
      plans.damaged() == 0
          ? ""
          : fmt::format(", where {} were damaged and prepared again", plans.damaged());
  observer.on_note(fmt::format(
      "prepared {} of products, convolutions and attention in {:.1f} s, and read {} from the "
      "cache{}",
      counted(plans.prepared(), "plan"), plans.seconds(), counted(plans.found(), "plan"), damaged));
}

// Stores compiled plans for the next run, which without them only starts later.
void keep_plans(const fs::path& cache, Tuning& tuning, Observer& observer) {
  note_plans(tuning.plans(), observer);
  if (cache.empty()) return;
  try {
    add_plans_to_cache(cache, tuning.plans());
  } catch (const Error& error) {
    observer.on_warning(
        fmt::format("the next run has to compile cuDNN's plans again: {}", error.what()));
  }
}

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

void need_folder_of(const fs::path& path) {
  if (std::error_code error = make_folder_of(path))
    fail(Category::config, "{}: {}", path.parent_path().string(), error.message());
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
  need_folder_of(path);
  CacheLock lock(path);
  plans.write();
}

// Runs that end at a time add to the same file: it is read again under the lock. A damaged file is
// replaced, as its content is empty.
void add_to_tuning_cache(const fs::path& path, const Tuning& tuning) {
  need_folder_of(path);
  CacheLock lock(path);
  // In order of precedence: replacements, the file, the rest of this run's.
  TuningChoices all, file = read_tuning_cache(path).choices;
  for (const auto& [key, engine] : tuning.measured())
    if (tuning.replaced().find(key)) all.set(key, engine);
  all.add_missing(file);
  all.add_missing(tuning.measured());
  write_file_atomically(path, all.to_text(), Category::config);
}

std::unique_ptr<Tuning> open_tuning(const CudaConfig& config, const TuningSource& source,
                                    Observer& observer) {
  if (source.gpus && !config.autotune) return nullptr;
  // Only rank 0 measures, and so only rank 0 needs the cache.
  Tuning::Options options{.recorded = recorded_choices(source.recorded),
                          .measures = source.gpus && source.first};
  fs::path cache_path = tuning_cache_path(config.autotune_cache);
  if (source.gpus) options.plans = plan_folder(cache_path);
  if (options.measures) {
    TuningCacheContent cache = read_tuning_cache(cache_path);
    // A cache is only a shortcut, so one that cannot be read is a warning.
    if (!cache.problem.empty())
      observer.on_warning(fmt::format("{}; engines are measured again", cache.problem));
    options.cached = std::move(cache.choices);
  }
  return std::make_unique<Tuning>(std::move(options));
}

void share_tuning(Tuning& tuning, ProcessGroup& group) {
  if (group.size() == 1) return;
  bool first = group.rank() == 0;
  std::string text = broadcast(group, first ? tuning.chosen().to_text() : "");
  if (!first) tuning.adopt(TuningChoices::from_text(text, Category::unexpected));
}

std::string recorded_text(const Tuning* tuning) {
  return tuning && !tuning->chosen().empty() ? tuning->chosen().to_text() : "";
}

void keep_tuning(const CudaConfig& config, Tuning& tuning, Observer& observer) {
  note_native_kernels(tuning, observer);
  fs::path path = tuning_cache_path(config.autotune_cache);
  keep_plans(path, tuning, observer);
  if (size_t lost = tuning.replaced().size())
    observer.on_warning(
        fmt::format("{} of the engines chosen before cannot be used any more and were replaced: "
                    "results will differ in the last bits",
                    lost));
  size_t count = tuning.measured().size();
  if (count == 0) return;
  std::string found = fmt::format("measured which engine is fastest for {}",
                                  counted(std::ssize(tuning.measured()), "operation"));
  if (path.empty()) return observer.on_note(found);
  try {
    add_to_tuning_cache(path, tuning);
    observer.on_note(fmt::format("{}; kept in {}", found, path.string()));
  } catch (const Error& error) {
    observer.on_warning(
        fmt::format("{}, but it cannot be kept for the next run: {}; set cuda.autotune_cache to a "
                    "file that can be written",
                    found, error.what()));
  }
}

LibraryVersions library_versions(DeviceKind kind) {
  auto cuda = kind == DeviceKind::cuda ? cuda_versions() : std::nullopt;
  if (!cuda) return {};
  return {{"cuBLASLt", to_string(cuda->cublas.found)}, {"cuDNN", to_string(cuda->cudnn.found)}};
}

// A library that one of the two does not name is no change: the run was on CPUs then.
std::string changed_versions(const LibraryVersions& before, const LibraryVersions& now) {
  std::vector<std::string> changes;
  for (const auto& [library, version] : now) {
    auto was = before.find(library);
    if (was != before.end() && was->second != version)
      changes.push_back(fmt::format("{} is {}, was {}", library, version, was->second));
  }
  return fmt::format("{}", fmt::join(changes, "; "));
}

}  // namespace spire
