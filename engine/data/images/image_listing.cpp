// Lists folders of images. Sorted names make the order of samples independent of the file system.
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/base/system_limits.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/text/unicode_form.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

// Returns the sorted names of the wanted entries of a folder. Throws Error(data) for what the
// system refuses, such as a link to itself.
std::vector<std::string> names_of(const fs::path& folder,
                                  bool (*wanted)(const fs::directory_entry&)) {
  try {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder))
      if (!is_hidden(entry.path()) && wanted(entry))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  } catch (const fs::filesystem_error& error) {
    const fs::path& place = error.path1().empty() ? folder : error.path1();
    int reason = error.code().value();
    fail(category_of(reason, Category::data), "{}: cannot be read: {}; check data.path",
         place.string(), system_reason(reason));
  }
}

bool is_file(const fs::directory_entry& entry) {
  return entry.is_regular_file();
}

void ignore(const std::string& name, ImageListing& listing) {
  if (listing.ignored++ == 0) listing.first_ignored = name;
}

// Returns at the first image; true also where the folder cannot be read, which list_images() says.
bool has_image(const fs::path& folder) {
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::end(at);
       at.increment(error))
    if (!is_hidden(at->path()) && is_image_name(at->path())) return true;
  return static_cast<bool>(error);
}

}  // namespace

bool is_image_name(const fs::path& path) {
  constexpr std::array<std::string_view, 8> endings = {".jpg",  ".jpeg", ".jfif", ".png",
                                                       ".webp", ".bmp",  ".tif",  ".tiff"};
  std::string end = path.extension().string();
  for (char& c : end) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::ranges::find(endings, end) != endings.end();
}

std::vector<fs::path> images_within(const fs::path& folder) {
  std::vector<fs::path> names;
  try {
    for (auto at = fs::recursive_directory_iterator(folder); at != fs::end(at); ++at) {
      if (is_hidden(at->path())) {
        at.disable_recursion_pending();
      } else if (is_image_name(at->path()) && at->is_regular_file()) {
        names.push_back(at->path().lexically_relative(folder));
      }
    }
  } catch (const fs::filesystem_error& error) {
    int reason = error.code().value();
    fail(category_of(reason, Category::data), "{}: cannot be read: {}", error.path1().string(),
         system_reason(reason));
  }
  if (names.empty())
    fail(Category::data, "{}: neither it nor its folders contain a {}; name other inputs",
         folder.string(), image_endings);
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> folders_in(const fs::path& folder) {
  return names_of(folder, [](const auto& entry) { return entry.is_directory(); });
}

std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> names = folders_in(folder);
  if (names.empty())
    fail(Category::data,
         "{}: has no folders; put the images of each class into a folder of its own there",
         folder.string());
  return names;
}

std::vector<std::string> folders_of_images(const fs::path& folder) {
  std::vector<std::string> names = class_folders(folder);
  std::erase_if(names, [&](const std::string& name) { return !has_image(folder / name); });
  return names;
}

ImageListing list_images(const fs::path& folder, const std::vector<std::string>& classes) {
  ImageListing listing{.folder = folder};
  for (const std::string& name : class_folders(folder)) {
    auto found = find_name(classes, name);
    if (!found && !has_image(folder / name)) {
      listing.left_out.push_back(name);
      continue;
    }
    if (!found)
      fail(Category::data,
           "{}: folder '{}' is not a class, because train has no folder of that name with images; "
           "remove it, or add images of it to train",
           folder.string(), printable(name));
    auto label = static_cast<int32_t>(*found);
    for (const std::string& file : names_of(folder / name, is_file)) {
      if (is_image_name(file)) {
        listing.files.push_back({name + "/" + file, label});
      } else {
        ignore(name + "/" + file, listing);
      }
    }
  }
  for (const std::string& file : names_of(folder, is_file)) ignore(file, listing);
  if (listing.files.empty())
    fail(Category::data, "{}: its folders contain no {}; check data.path", folder.string(),
         image_endings);
  return listing;
}

}  // namespace spire::inline data
