#include "engine/data/images/pair_listing.h"

#include <map>
#include <system_error>
#include <utility>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/data/images/image_folder.h"
#include "engine/data/input_file.h"
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

// Returns folder/val or folder/test, or such CSV files.
fs::path test_place(const fs::path& folder, const char* extension) {
  for (const char* name : {"val", "test"}) {
    fs::path part = folder / (std::string(name) + extension);
    std::error_code error;
    if (fs::exists(part, error)) return part;
  }
  fail(Category::data, "{}: has train{}, but neither val{} nor test{}; add one for the test pairs",
       folder.string(), extension, extension, extension);
}

// Keeps a share of the pairs for testing, the same ones in every run.
PairSplits split(PairListing all, double test_share) {
  PairSplits splits;
  splits.train.notes = std::move(all.notes);
  for (size_t i = 0; i < all.pairs.size(); ++i) {
    bool test = is_test_row(static_cast<int64_t>(i), test_share);
    (test ? splits.test : splits.train).pairs.push_back(std::move(all.pairs[i]));
  }
  return splits;
}

PairSplits list_parts(const fs::path& path, double test_share) {
  std::error_code error;
  if (!is_folder(path)) return split(list_pair_file(existing_input(path)), test_share);
  if (is_folder(path / "train"))
    return {list_pair_folders(path / "train"), list_pair_folders(test_place(path, ""))};
  if (fs::exists(path / "train.csv", error))
    return {list_pair_file(path / "train.csv"), list_pair_file(test_place(path, ".csv"))};
  return split(list_pair_folders(path), test_share);
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

PairSplits list_pairs(const fs::path& path, double test_share) {
  PairSplits splits = list_parts(path, test_share);
  for (const PairListing* part : {&splits.train, &splits.test})
    if (part->pairs.empty())
      fail(Category::data,
           "{}: no pair is left for the {}; add pairs or change data.pairs.test_share",
           path.string(), part == &splits.train ? "training" : "test");
  return splits;
}

}  // namespace spire::inline data
