#include "engine/run/run_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/read_file.h"
#include "engine/base/system.h"
#include "engine/base/write_file.h"
#include "engine/checkpoint/checkpoint_store.h"
#include "engine/config/text.h"
#include "engine/inference/sample_outputs.h"
#include "engine/observe/formatting.h"
#include "engine/observe/tensorboard/event_file.h"
#include "engine/process/socket.h"

// The record `.spire_run` in the directory makes sure that one run uses it at a time, and that a
// run deletes only files that runs have written. The run locks it by flock, which the system
// releases when the process ends, however it ends. Its text names the run, the folders that runs
// have made, their files in the folder tensorboard, and their checkpoints:
//
//   host, process 123, since 2026-11-22T18:00:00Z
//   begun
//   made checkpoints
//   wrote events.out.tfevents.1795454341.host.123
//   names checkpoints
//   saved step_00001000.h5
//
// On NFS, Linux sends the lock to the server, so that runs on other hosts see it.
namespace spire {

namespace fs = std::filesystem;

namespace {

constexpr std::array file_names = {"metrics.jsonl", "audit.jsonl",    "summary.json",
                                   "config.yaml",   "confusion.json", "confusion_test.json"};

bool removed_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(path, error)) && fs::remove(path, error);
}

// Makes the folder and its missing parents; returns how many it made.
int make_folders(const fs::path& path) {
  int missing = 0;
  std::error_code error;
  for (fs::path p = fs::absolute(path).lexically_normal();
       !fs::exists(p, error) && p.has_parent_path(); p = p.parent_path())
    ++missing;
  fs::create_directories(path, error);
  if (error)
    fail(category_of(error.value(), Category::config), "output: cannot create {}: {}",
         path.string(), error.message());
  return missing;
}

}  // namespace

bool holds_something(const fs::path& directory) {
  for (const fs::path& name : list_folder(directory, Category::config))
    if (name != RunDirectory::record_name) return true;
  return false;
}

bool has_checkpoint(const fs::path& directory) {
  return !CheckpointStore(directory / "checkpoints", {}).list().empty();
}

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  if (fs::exists(path_, error) && !fs::is_directory(path_, error))
    refuse("is a file; name a directory");
  holder_ = fmt::format("{}, process {}, since {}", host_name(), ::getpid(),
                        utc_text(std::chrono::system_clock::now()));
  take_record();
  try {
    found_text_ = read_file_if_there(path_ / record_name, Category::config).value_or("");
    found_text_read_ = true;
    read_record(found_text_);
    take_unrecorded_checkpoints();
    write_record();
  } catch (...) {
    restore_as_found();
    throw;
  }
}

RunDirectory::~RunDirectory() {
  for (const auto& [name, descriptor] : folders_) ::close(descriptor);
  restore_as_found();
}

// Opens and locks the record. A run that was refused removes its record: if that happens between
// open and lock, the lock is on a file without a name, and the record is opened again.
void RunDirectory::take_record() {
  do {
    if (record_ >= 0) ::close(record_);
    record_ = -1;
    open_record();
    lock_record();
  } while (!is_named(record_, path_ / record_name));
}

// Undoes the constructor where no run has begun: the record's text, the record, the folders.
void RunDirectory::restore_as_found() noexcept {
  if (!begun_ && !found_text_.empty()) write_text(found_text_);
  if (!begun_ && found_text_read_ && found_text_.empty()) ::unlink((path_ / record_name).c_str());
  if (record_ >= 0) ::close(record_);
  std::error_code error;
  fs::path made = fs::absolute(path_, error).lexically_normal();
  if (begun_ || error) return;
  // rmdir() fails on a folder that is not empty: what others have put there stays.
  for (int i = 0; i < folders_made_here_ && ::rmdir(made.c_str()) == 0; ++i)
    made = made.parent_path();
}

void RunDirectory::refuse(const std::string& what) const {
  fail(Category::config, "output: {} {}", path_.string(), what);
}

void RunDirectory::open_record() {
  folders_made_here_ = make_folders(path_);
  record_ = open_in_place(path_ / record_name, Category::config);
}

void RunDirectory::lock_record() {
  while (::flock(record_, LOCK_EX | LOCK_NB) != 0) {
    int reason = errno;
    if (reason == EINTR) continue;
    // These three mean that the file system has no locks, any other that the lock is refused.
    locked_ = reason != ENOLCK && reason != EOPNOTSUPP && reason != ENOSYS;
    if (!locked_) return;
    ::close(std::exchange(record_, -1));
    std::string text = read_file_if_there(path_ / record_name, Category::config).value_or("");
    if (reason != EWOULDBLOCK) refuse(fmt::format("cannot be locked: {}", std::strerror(reason)));
    std::string holder = text.substr(0, text.find('\n'));
    refuse(
        fmt::format("is in use by another run ({}); wait until it ends, stop it, or name another "
                    "directory with --output",
                    holder.empty() ? "which is just starting" : holder));
  }
}

void RunDirectory::read_record(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // the holder
  while (std::getline(lines, line)) {
    if (line == "begun") used_by_runs_ = true;
    if (line.starts_with("made ")) made_.insert(line.substr(5));
    if (line.starts_with("wrote ")) wrote_.insert(line.substr(6));
    if (line == "names checkpoints") names_checkpoints_ = true;
    if (line.starts_with("saved ")) checkpoints_.insert(line.substr(6));
  }
}

// The record of an earlier program does not name them, and a copied folder may lack it: all in the
// folder count as the run's, but not where a link leads elsewhere, as others may write there.
void RunDirectory::take_unrecorded_checkpoints() {
  if (std::exchange(names_checkpoints_, true)) return;
  fs::path folder = path_ / "checkpoints";
  std::error_code error;
  fs::path inside = fs::weakly_canonical(path_, error);
  fs::path real = error ? fs::path() : fs::weakly_canonical(folder, error);
  if (error || std::ranges::mismatch(inside, real).in1 != inside.end()) return;
  for (const fs::path& name : list_folder(folder, Category::checkpoint)) {
    bool temporary = name.extension() == temporary_suffix;
    checkpoints_.insert((temporary ? name.stem() : name).string());
  }
}

std::string RunDirectory::record_text() const {
  std::string text = holder_ + "\n";
  if (used_by_runs_) text += "begun\n";
  for (const std::string& folder : made_) text += "made " + folder + "\n";
  for (const std::string& name : wrote_) text += "wrote " + name + "\n";
  text += "names checkpoints\n";
  for (const std::string& name : checkpoints_) text += "saved " + name + "\n";
  return text;
}

void RunDirectory::write_record() {
  if (!write_text(record_text()))
    fail(category_of(errno, Category::config), "output: {} cannot be written to: {}",
         path_.string(), std::strerror(errno));
}

// Writes in place, as the lock is on this file.
bool RunDirectory::write_text(const std::string& text) noexcept {
  ssize_t written = ::pwrite(record_, text.data(), text.size(), 0);
  return written == static_cast<ssize_t>(text.size()) && ::ftruncate(record_, written) == 0;
}

// Checks the names of files that the run will replace.
void RunDirectory::check_names() const {
  for (const char* name : file_names) require_replaceable(path_ / name, Category::config);
  for (const char* name : {"latest", "best"})
    require_replaceable(path_ / "checkpoints" / name, Category::config);
}

void RunDirectory::begin(bool replace) {
  check_names();
  if (holds_something(path_)) {
    if (!replace)
      refuse(
          "is not empty; continue the run with --resume auto, delete it with --overwrite, or name "
          "another directory with --output");
    if (!used_by_runs_)
      refuse(
          fmt::format("contains files that no run wrote (there is no {}), and only what a run "
                      "wrote is deleted; name another directory with --output",
                      record_name));
    delete_files_of_runs();
  }
  go_on();
}

void RunDirectory::go_on() {
  check_names();
  begun_ = used_by_runs_ = true;
  write_record();
}

void RunDirectory::delete_files_of_runs() {
  for (const char* name : file_names) {
    removed_file(path_ / name);
    removed_file(path_ / (std::string(name) + std::string(temporary_suffix)));
  }
  Retention own{.is_ours = [this](const std::string& name) { return wrote_checkpoint(name); }};
  CheckpointStore(path_ / "checkpoints", own).clear();
  checkpoints_.clear();
  EvaluationSamples::clear(path_ / "samples");
  for (const std::string& name : wrote_) removed_file(event_folder() / fs::path(name).filename());
  wrote_.clear();
  std::erase_if(made_, [&](const std::string& name) {  // where nothing else lies in it
    return ::rmdir((path_ / name).c_str()) == 0 || errno == ENOENT;
  });
}

fs::path RunDirectory::folder(const std::string& name) {
  fs::path folder = path_ / name;
  bool made = ::mkdir(folder.c_str(), 0777) == 0;
  if (made) {
    made_.insert(name);
    write_record();
  } else if (errno != EEXIST) {
    fail(category_of(errno, Category::config), "output: cannot create {}: {}", folder.string(),
         std::strerror(errno));
  }
  // The descriptor shows later whether the name still leads to this folder.
  int descriptor = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    fail(Category::config, "output: {} is needed as a folder: {}; move away what has the name",
         folder.string(), std::strerror(errno));
  auto [former, added] = folders_.try_emplace(name, descriptor);
  if (!added) ::close(std::exchange(former->second, descriptor));
  if (::access(folder.c_str(), W_OK | X_OK) != 0)
    fail(Category::config, "output: cannot write into {}: {}", folder.string(),
         std::strerror(errno));
  return folder;
}

fs::path RunDirectory::event_folder() const {
  return path_ / "tensorboard";
}

void RunDirectory::expect_event_files() {
  folder("tensorboard");
  earlier_ = event_files_of_this_process(event_folder());
}

void RunDirectory::record_event_files() {
  for (const std::string& name : event_files_of_this_process(event_folder()))
    if (!earlier_.contains(name)) wrote_.insert(name);
  write_record();
}

// Forgets those that retention has deleted: the record stays short.
void RunDirectory::expect_checkpoint(const std::string& name) {
  std::erase_if(checkpoints_, [&](const std::string& earlier) {
    std::error_code error;
    return !fs::exists(path_ / "checkpoints" / earlier, error) && !error;
  });
  checkpoints_.insert(name);
  write_text(record_text());
}

// Throws where another run has written a record meanwhile; one that this process has made is empty.
void RunDirectory::refuse_record_of_another_run() {
  if (!read_file_if_there(path_ / record_name, Category::config).value_or("").empty()) {
    ::close(std::exchange(record_, -1));
    refuse("holds the files of another run now");
  }
}

std::string RunDirectory::lost_folder() const {
  for (const auto& [name, descriptor] : folders_)
    if (!is_named(descriptor, path_ / name)) return (path_ / name).string();
  return "";
}

// Looks for the folders before the record beside them: all that is removed between the two looks is
// one loss then, not one of a folder and a second one of the whole.
std::string RunDirectory::restore_if_lost() {
  std::string lost = lost_folder();
  try {
    if (!is_named(record_, path_ / record_name)) {
      lost = path_.string();
      take_record();
      refuse_record_of_another_run();
      write_record();
    }
    if (lost.empty()) return lost;
    for (const auto& [name, descriptor] : folders_)
      if (!is_named(descriptor, path_ / name)) folder(name);
  } catch (const Error& error) {
    fail(Category::checkpoint, "{} was removed or replaced during the run: {}",
         lost.empty() ? path_.string() : lost, error.what());
  }
  return fmt::format("{} was removed or replaced during the run, with what the run had written",
                     lost);
}

void RunOutput::begin() {
  if (setup_.resumed_here) {
    directory_->go_on();
  } else {  // with auto: a run that was killed before its first checkpoint starts over
    directory_->begin(options_.overwrite || options_.resume == "auto");
  }
}

void RunOutput::write_config() {
  if (!directory_->locked()) {
    observer_.on_warning(fmt::format(
        "{}: its file system does not support locks; make sure that no other run writes there",
        directory_->path().string()));
  }
  write_config_file(Category::config);
}

// With the batch that `auto` chose, or that was divided anew: other machines then train the same
// bits. On CPUs the threads of a tower decide bits, too, and another machine would choose others.
std::string RunOutput::config_text() const {
  if (options_.config_yaml.empty()) return to_yaml(setup_.config);
  if (!setup_.records_batch) return options_.config_yaml;
  RunConfig config = parse_config({{"config", options_.config_yaml}}, {}).config;
  config.batch_size = setup_.config.batch_size;
  config.global_batch = setup_.config.global_batch;
  config.towers = setup_.config.towers;
  bool exact = setup_.config.precision == RunConfig::Precision::exact;
  if (setup_.placement.devices[0].id.kind == DeviceKind::cpu && !exact)
    config.tower_threads = setup_.config.tower_threads;
  return to_yaml(config);
}

void RunOutput::write_config_file(Category category) const {
  write_file_atomically(directory_->path() / "config.yaml", config_text(), category);
}

bool RunOutput::restore(int64_t step) {
  if (!directory_) return false;
  std::string lost;
  try {
    lost = directory_->restore_if_lost();
    writable_ = true;
  } catch (const Error&) {
    writable_ = false;
    throw;
  }
  if (lost.empty()) return false;
  // The warning comes at once; lost() makes the run end with an exit code that says it, too.
  write_config_file(Category::checkpoint);
  observer_.on_warning(fmt::format("output: {}; it is made anew and training goes on", lost));
  if (lost_.empty()) lost_ = fmt::format("output: {}, up to step {}", lost, step);
  return true;
}

}  // namespace spire
