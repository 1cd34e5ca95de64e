#include "engine/data/images/pair_listing.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/base/read_file.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/input_file.h"
#include "engine/data/part_names.h"
#include "engine/data/tables/csv_reader.h"
#include "engine/data/tables/csv_table.h"
#include "engine/data/test_share.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

fs::path stem_of(fs::path name) {
  return name.replace_extension();
}

// Returns the images below a folder by their relative paths without extension.
std::map<fs::path, fs::path> images_by_stem(const fs::path& folder) {
  if (!is_folder(folder))
    fail(Category::data,
         "{}: is not a folder; image_pairs needs the folders input and target, with files of the "
         "same names",
         folder.string());
  std::map<fs::path, fs::path> images;
  for (const fs::path& name : images_within(folder)) {
    auto [other, added] = images.emplace(stem_of(name), name);
    if (!added)
      fail(Category::data,
           "{}: {} and {} have one name but for the extension; rename or remove one",
           folder.string(), other->second.string(), name.string());
  }
  return images;
}

constexpr const char* header_of_pairs = "input,target";

bool is_header(const CsvRecord& record) {
  return record.fields.size() == 2 && trimmed(record.fields[0].text) == "input" &&
         trimmed(record.fields[1].text) == "target";
}

ImagePair pair_in(const CsvRecord& record, const fs::path& csv) {
  CsvPosition place = record.fields.front().position;
  if (!record.problem.empty())
    fail(Category::data, "{}: {}", to_string(csv, record.problem_position), record.problem);
  if (record.fields.size() != 2)
    fail(Category::data, "{}: {} instead of two paths, {}", to_string(csv, place),
         counted(std::ssize(record.fields), "field"), header_of_pairs);
  ImagePair pair;
  for (auto [path, field] : {std::pair{&pair.input, size_t{0}}, {&pair.target, size_t{1}}}) {
    *path = csv.parent_path() / fs::path(trimmed(record.fields[field].text));
    std::error_code error;
    if (!fs::is_regular_file(*path, error))
      fail(Category::data, "{}: there is no file {}; paths are relative to the CSV file's folder",
           to_string(csv, record.fields[field].position), path->string());
  }
  return pair;
}

void require_pairs(const PairListing& part, const char* purpose, const fs::path& path) {
  if (part.pairs.empty())
    fail(Category::data,
         "{}: no pair is left for the {}; add pairs or change data.pairs.test_share", path.string(),
         purpose);
}

// Names that may mean parts: a CSV file's name without its ending.
std::string stem_of_list(const std::string& name) {
  for (std::string_view ending : {".csv", ".csv.gz"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  return "";
}

std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& name : list_folder(folder, Category::data)) names.push_back(name.string());
  std::ranges::sort(names);
  return names;
}

using ListPairs = PairListing (*)(const fs::path& place);

PairSplits list_parts(const fs::path& folder, PartNames parts, ListPairs list) {
  if (parts.test.empty())
    fail(Category::data, "{}: has {}, but neither val nor test; add one for the test pairs",
         folder.string(), printable(parts.train));
  PairSplits splits{list(folder / parts.train), list(folder / parts.test)};
  if (!parts.val.empty()) {
    splits.val = list(folder / parts.val);
    require_pairs(splits.val, "validation", folder);
  }
  splits.notes = std::move(parts.notes);
  return splits;
}

// Keeps a share of the pairs for testing, the same ones in every run.
PairSplits split(const fs::path& path, PairListing all, double test_share) {
  PairSplits splits;
  if (test_share >= 1) {
    splits.test.pairs = all.pairs;
    splits.notes.push_back(all_test_note(path.string(), counted(std::ssize(all.pairs), "pair"),
                                         "data.pairs.test_share"));
    splits.train = std::move(all);
    return splits;
  }
  splits.train.notes = std::move(all.notes);
  for (size_t i = 0; i < all.pairs.size(); ++i) {
    bool test = is_test_row(static_cast<int64_t>(i), test_share);
    (test ? splits.test : splits.train).pairs.push_back(std::move(all.pairs[i]));
  }
  return splits;
}

PairSplits list_all(const fs::path& path, double test_share, const ValConfig& val) {
  if (!is_folder(path)) return split(path, list_pair_file(existing_input(path)), test_share);
  PartNames folders = choose_parts(path.string(), folders_in(path), val);
  if (!folders.train.empty()) {
    if (!folders.val.empty() && !is_folder(path / folders.test / "target"))
      folders.leave_out_test(path.string(), "it has no folder target");
    if (!folders.others.empty())
      folders.notes.push_back(
          fmt::format("{}: not read: {}", path.string(), quoted_list(folders.others)));
    return list_parts(path, std::move(folders), list_pair_folders);
  }
  PartNames lists = choose_parts(path.string(), files_in(path), val, stem_of_list);
  if (!lists.train.empty()) return list_parts(path, std::move(lists), list_pair_file);
  return split(path, list_pair_folders(path), test_share);
}

}  // namespace

PairListing list_pair_folders(const fs::path& folder) {
  fs::path inputs = folder / "input", targets = folder / "target";
  std::map<fs::path, fs::path> target_of = images_by_stem(targets);
  PairListing listing;
  for (const auto& [stem, name] : images_by_stem(inputs)) {
    auto target = target_of.extract(stem);
    if (target.empty())
      fail(Category::data,
           "{}: has no target: {} contains no image of that name; add it, or remove the input",
           (inputs / name).string(), targets.string());
    listing.pairs.push_back({inputs / name, targets / target.mapped()});
  }
  if (!target_of.empty())
    listing.notes.push_back(fmt::format("{}: {} without an input, such as {}, not used",
                                        targets.string(), counted(std::ssize(target_of), "image"),
                                        target_of.begin()->second.string()));
  return listing;
}

PairListing list_pair_file(const fs::path& csv) {
  CsvReader reader(csv, ',');
  PairListing listing;
  CsvRecord record;
  for (bool first = true; reader.next(record); first = false)
    if (!first || !is_header(record)) listing.pairs.push_back(pair_in(record, csv));
  return listing;
}

PairSplits list_pairs(const fs::path& path, double test_share, const ValConfig& val) {
  PairSplits splits = list_all(path, test_share, val);
  require_pairs(splits.train, "training", path);
  require_pairs(splits.test, "test", path);
  return splits;
}

}  // namespace spire::inline data
