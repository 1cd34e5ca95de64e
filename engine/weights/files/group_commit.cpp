#include "engine/weights/files/group_commit.h"

#include <system_error>

#include <spire/error.h>
namespace spire::inline weights {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

fs::path former_of(fs::path path) {
  path += former_suffix;
  return path;
}

// Gives the file a second name. File systems without links get a copy. Returns false if there is no
// file.
bool keep(const fs::path& path) {
  fs::path former = former_of(path);
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  fs::remove(former, error);
  fs::create_hard_link(path, former, error);
  if (error) fs::copy_file(path, former, error);
  if (error)
    fail(Category::config, "cannot keep {} as {} until all files are written: {}", path.string(),
         former.string(), error.message());
  return true;
}

constexpr std::string_view digits = "0123456789";

// NAME-00001-of-00002.ENDING
bool is_shard(const std::string& name, const fs::path& path) {
  std::string stem = path.stem().string() + "-", ending = path.extension().string();
  if (!name.starts_with(stem) || !name.ends_with(ending)) return false;
  if (name.size() < stem.size() + ending.size()) return false;
  std::string_view numbers(name.data() + stem.size(), name.size() - stem.size() - ending.size());
  size_t of = numbers.find_first_not_of(digits);
  if (of == numbers.npos || !numbers.substr(of).starts_with("-of-")) return false;
  std::string_view count = numbers.substr(of + 4);
  return of >= 5 && count.size() >= 5 && count.find_first_not_of(digits) == count.npos;
}

}  // namespace

GroupCommit::GroupCommit(fs::path leading, Existing existing) : leading_(std::move(leading)) {
  std::error_code error;
  if (existing == Existing::keep || !fs::exists(leading_, error)) return;
  require_replaceable(leading_, Category::config);
  fs::rename(leading_, former_of(leading_), error);
  if (error)
    fail(Category::config, "cannot keep {} as {} until all files are written: {}",
         leading_.string(), former_of(leading_).string(), error.message());
  aside_ = true;
  sync_directory(folder_of(leading_), Category::config);
}

GroupCommit::~GroupCommit() {
  if (complete_) return;
  std::error_code error;
  for (const Member& member : done_)
    if (member.had_former) {
      fs::rename(former_of(member.path), member.path, error);
    } else {
      fs::remove(member.path, error);
    }
  if (aside_) fs::rename(former_of(leading_), leading_, error);
}

void GroupCommit::commit(AtomicWriter& writer, const fs::path& path) {
  bool had_former = path != leading_ && keep(path);
  try {
    writer.commit();
  } catch (...) {
    std::error_code error;
    if (had_former) fs::remove(former_of(path), error);
    throw;
  }
  done_.push_back({path, had_former});
}

std::vector<fs::path> GroupCommit::complete() {
  complete_ = true;
  std::vector<fs::path> paths;
  std::error_code error;
  for (const Member& member : done_) {
    if (member.had_former) fs::remove(former_of(member.path), error);
    paths.push_back(member.path);
  }
  if (aside_) fs::remove(former_of(leading_), error);
  return paths;
}

void sweep_leftovers(const fs::path& path, const fs::path& companion) {
  std::string name = path.filename().string();
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder_of(path), error)) {
    std::string ending = entry.path().extension().string(), base = entry.path().stem().string();
    if (ending != former_suffix && ending != temporary_suffix) continue;
    bool ours = base == name || base == name + ".index.json" || is_shard(base, path) ||
                (!companion.empty() && base == companion.filename().string());
    if (ours && fs::is_regular_file(entry.symlink_status(error))) leftovers.push_back(entry);
  }
  for (const fs::path& leftover : leftovers) fs::remove(leftover, error);
}

}  // namespace spire::inline weights
