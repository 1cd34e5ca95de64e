// What a table's datasets look like in the file, and the checksums beside them.
#include <array>

#include <spire/error.h>

#include "engine/data/convert/hdf5_skeleton.h"
#include "engine/data/formats/hdf5_table.h"

namespace spire::inline data {
namespace {

using h5::check;
using h5::Handle;

std::string dims_text(std::span<const hsize_t> dims) {
  return fmt::format("({}{})", fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
}

// "int32", "uint8", "float64"
std::string type_text(hid_t dataset) {
  Handle type(H5Dget_type(dataset), H5Tclose, "read the type");
  bool floats = H5Tget_class(type) == H5T_FLOAT, natural = H5Tget_sign(type) == H5T_SGN_NONE;
  return fmt::format("{}{}", floats ? "float" : natural ? "uint" : "int", 8 * H5Tget_size(type));
}

// ", chunks of (64, 28, 28, 1), shuffle, deflate"
std::string chunks_text(hid_t dataset) {
  Handle creation(H5Dget_create_plist(dataset), H5Pclose, "read the layout");
  if (H5Pget_layout(creation) != H5D_CHUNKED) return ", no chunks";
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  int rank = check(H5Pget_chunk(creation, H5S_MAX_RANK, chunk.data()), "read the layout");
  std::string text = ", chunks of " + dims_text(std::span(chunk).first(static_cast<size_t>(rank)));
  int filters = check(H5Pget_nfilters(creation), "read the filters");
  for (unsigned i = 0; i < static_cast<unsigned>(filters); ++i) {
    std::array<char, 64> name{};
    size_t values = 0;
    unsigned flags = 0, config = 0;
    check(H5Pget_filter2(creation, i, &flags, &values, nullptr, name.size() - 1, name.data(),
                         &config),
          "read the filters");
    text += fmt::format(", {}", name.data());
  }
  return text;
}

}  // namespace

std::string Hdf5Table::layout(size_t column) const {
  return in_hdf5_file(path_, [&] {
    hid_t dataset = datasets_[column];
    Handle space(H5Dget_space(dataset), H5Sclose, "read the shape");
    std::array<hsize_t, H5S_MAX_RANK> dims{};
    int rank = check(H5Sget_simple_extent_dims(space, dims.data(), nullptr), "read the shape");
    return fmt::format("{}: {} {}{}, {} bytes", names_[column], type_text(dataset),
                       dims_text(std::span(dims).first(static_cast<size_t>(rank))),
                       chunks_text(dataset), H5Dget_storage_size(dataset));
  });
}

std::optional<RowChecksums> Hdf5Table::checksums() const {
  return in_hdf5_file(path_, [&]() -> std::optional<RowChecksums> {
    RowChecksums result;
    for (const std::string& name : names_) {
      std::optional<BlockChecksums> found = read_block_checksums(*within_, name);
      if (!found) return {};
      if (result.rows != 0 && result.rows != found->rows)
        fail(Category::data, "{}: checksums of {} are of {} rows, those of {} of {}",
             path_.string(), names_[0], result.rows, names_[1], found->rows);
      result.rows = found->rows;
      result.blocks.push_back(std::move(found->blocks));
      auto expected = static_cast<size_t>((count_ - 1) / result.rows + 1);  // rows: any number
      if (result.blocks.back().size() != expected)
        fail(Category::data, "{}: {} checksums of {}, expected {}; get an intact copy",
             path_.string(), result.blocks.back().size(), name, expected);
    }
    return result;
  });
}

}  // namespace spire::inline data
