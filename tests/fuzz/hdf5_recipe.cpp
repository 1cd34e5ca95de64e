#include "tests/fuzz/hdf5_recipe.h"

#include <limits>
#include <string>

#include "engine/base/hdf5.h"

namespace spire::fuzz {
namespace {

// The bytes of one dataset.
struct Hdf5Part {
  uint8_t type = 0;
  std::vector<uint8_t> extents = {};  // entries of the table
  uint8_t layout = 0;
  std::vector<uint8_t> chunk = {};
  uint8_t filters = 0, values = 0, step = 1;
  std::vector<std::array<uint8_t, 4>> attributes = {};
};

// Entries of the tables, by name.
namespace hdf5_type {
enum : uint8_t { u8, i8, i16, u16_be, i32, i64, u64, f32, f64, f64_be };
}
namespace hdf5_layout {
enum : uint8_t { contiguous, compact, chunked };
}
namespace hdf5_filter {
enum : uint8_t { shuffle = 1, deflate = 2, fletcher32 = 4 };
}
namespace hdf5_attribute {
enum : uint8_t { mean, stddev, class_names, classes, rows };  // names
enum : uint8_t { number, integer, word, words };              // types
}  // namespace hdf5_attribute

using h5::check;
using h5::Handle;

constexpr size_t max_rank = 5;
constexpr hsize_t max_written = 4096;         // elements of a dataset
constexpr hsize_t max_chunk_bytes = 1 << 20;  // of one that is written
constexpr std::array<hsize_t, 16> extents = {
    1, 2, 3, 4, 5, 8, 16, 0, 6, 300, 1 << 20, hsize_t{1} << 31, hsize_t{1} << 40, hsize_t{1} << 62,
    7, 10};
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr std::array<double, 16> odd_numbers = {
    0,     1,      -1,     2,       0.5,
    255,   256,    0x1p31, -0x1p31, 0x1p63,
    1e30,  -1e300, inf,    -inf,    std::numeric_limits<double>::quiet_NaN(),
    5e-324};

Handle sized(hid_t type, size_t bytes) {
  Handle copy(H5Tcopy(type), H5Tclose, "copy a type");
  check(H5Tset_size(copy, bytes), "size it");
  return copy;
}

Handle copied(hid_t type) {
  return Handle(H5Tcopy(type), H5Tclose, "copy a type");
}

Handle seventeen_bits() {
  Handle type = copied(H5T_STD_I32LE);
  check(H5Tset_precision(type, 17), "narrow it");
  return type;
}

Handle half_precision() {
  Handle type = copied(H5T_IEEE_F32LE);
  check(H5Tset_fields(type, 15, 10, 5, 0, 10), "narrow it");
  check(H5Tset_size(type, 2), "size it");
  check(H5Tset_ebias(type, 15), "bias it");
  return type;
}

Handle truth_values() {
  Handle type(H5Tenum_create(H5T_STD_I8LE), H5Tclose, "make an enumeration");
  int8_t value = 0;
  check(H5Tenum_insert(type, "FALSE", &value), "fill");
  check(H5Tenum_insert(type, "TRUE", &++value), "fill");
  return type;
}

Handle pair_of_numbers() {
  Handle type(H5Tcreate(H5T_COMPOUND, 8), H5Tclose, "make a compound");
  check(H5Tinsert(type, "re", 0, H5T_IEEE_F32LE), "fill");
  check(H5Tinsert(type, "im", 4, H5T_IEEE_F32LE), "fill");
  return type;
}

Handle type_of(size_t index) {
  constexpr hsize_t two = 2;
  const std::array plain = {H5T_STD_U8LE,   H5T_STD_I8LE,  H5T_STD_I16LE, H5T_STD_U16BE,
                            H5T_STD_I32LE,  H5T_STD_I64LE, H5T_STD_U64LE, H5T_IEEE_F32LE,
                            H5T_IEEE_F64LE, H5T_IEEE_F64BE};
  index %= 20;
  if (index < plain.size()) return copied(plain[index]);
  switch (index) {
    case 10:
      return seventeen_bits();
    case 11:
      return half_precision();
    case 12:
      return truth_values();
    case 13:
      return pair_of_numbers();
    case 14:
      return sized(H5T_C_S1, 5);
    case 15:
      return sized(H5T_C_S1, H5T_VARIABLE);
    case 16:
      return Handle(H5Tvlen_create(H5T_STD_I32LE), H5Tclose, "make lists");
    case 17:
      return Handle(H5Tarray_create2(H5T_STD_U8LE, 1, &two), H5Tclose, "make arrays");
    default:
      return copied(index == 18 ? H5T_STD_B8LE : H5T_STD_REF_OBJ);
  }
}

using Extents = std::vector<hsize_t>;

Extents extents_of(Choices& choices, size_t rank) {
  Extents result(rank);
  for (hsize_t& extent : result) extent = choices.of(extents);
  return result;
}

// The product, or `most` where it is more.
hsize_t product(const Extents& dims, hsize_t most) {
  hsize_t result = 1;
  for (hsize_t dim : dims) result = dim != 0 && result > most / dim ? most : result * dim;
  return std::min(result, most);
}

struct Plan {
  size_t type = 0, rank = 0, layout = 0, written = 0;
  Extents dims, chunk;
  uint8_t filters = 0, fill = 0, values = 0, step = 0;
};

Plan plan_of(Choices& choices) {
  Plan plan;
  plan.type = choices.byte();
  plan.rank = choices.below(7);
  plan.dims = extents_of(choices, std::min(plan.rank, max_rank));
  plan.layout = choices.below(5);
  if (plan.layout == hdf5_layout::chunked) plan.chunk = extents_of(choices, plan.dims.size());
  plan.filters = choices.byte();
  plan.fill = choices.byte();
  plan.written = choices.below(5);
  plan.values = choices.byte();
  plan.step = choices.byte();
  return plan;
}

Handle space_of(const Plan& plan) {
  constexpr uint8_t no_limit = 32;
  if (plan.rank > max_rank) return Handle(H5Screate(H5S_NULL), H5Sclose, "make an extent");
  if (plan.rank == 0) return Handle(H5Screate(H5S_SCALAR), H5Sclose, "make an extent");
  Extents most = plan.dims;
  if (plan.layout == hdf5_layout::chunked && (plan.filters & no_limit) != 0)
    most[0] = H5S_UNLIMITED;
  return Handle(H5Screate_simple(static_cast<int>(plan.rank), plan.dims.data(), most.data()),
                H5Sclose, "make an extent");
}

void set_filters(hid_t creation, uint8_t filters) {
  if ((filters & 1) != 0) check(H5Pset_shuffle(creation), "shuffle");
  if ((filters & 8) != 0) check(H5Pset_scaleoffset(creation, H5Z_SO_INT, 0), "scale");
  if ((filters & 16) != 0) check(H5Pset_nbit(creation), "pack");
  if ((filters & 2) != 0) check(H5Pset_deflate(creation, 1), "compress");
  if ((filters & 4) != 0) check(H5Pset_fletcher32(creation), "sum");
}

// Creation properties of a kind of object without its time: the same bytes from call to call.
Handle without_times(hid_t kind) {
  Handle creation(H5Pcreate(kind), H5Pclose, "make properties");
  check(H5Pset_obj_track_times(creation, false), "forget the time");
  return creation;
}

Handle creation_of(const Plan& plan, hid_t space) {
  Handle creation = without_times(H5P_DATASET_CREATE);
  if (plan.fill != 0) check(H5Pset_fill_value(creation, H5T_NATIVE_UINT8, &plan.fill), "fill");
  switch (plan.layout) {
    case 1:
      check(H5Pset_layout(creation, H5D_COMPACT), "make it compact");
      break;
    case 2:
      check(H5Pset_chunk(creation, static_cast<int>(plan.chunk.size()), plan.chunk.data()), "cut");
      set_filters(creation, plan.filters);
      break;
    case 3:
      check(H5Pset_external(creation, "/dev/zero", 0, H5F_UNLIMITED), "put it elsewhere");
      break;
    case 4:
      check(H5Pset_virtual(creation, space, ".", hdf5_names[0], space), "make it virtual");
      break;
    default:
      break;
  }
  return creation;
}

// i -> small numbers that repeat, or extreme ones.
std::vector<double> values_of(const Plan& plan, hsize_t count) {
  std::vector<double> values(count);
  for (hsize_t i = 0; i < count; ++i)
    values[i] = plan.values < 128 ? static_cast<double>(i * plan.step % (plan.values + 1u))
                                  : odd_numbers[(plan.values + i * plan.step) % odd_numbers.size()];
  return values;
}

void write_values(hid_t dataset, hid_t space, const Plan& plan) {
  constexpr size_t bytes_at_most = 16;  // of an element
  if (plan.layout == 4) return;         // libhdf5 1.10 does not come back when it is of itself
  hsize_t count = product(plan.dims, max_written + 1);
  if (count > max_written || product(plan.chunk, max_chunk_bytes) > max_chunk_bytes / bytes_at_most)
    return;
  if (plan.written == 4) {
    const std::array<uint8_t, 8> bytes = {0x78, 0x9c, plan.values, plan.step};
    const Extents first(std::max<size_t>(1, plan.rank));
    check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, first.data(), bytes.size(), bytes.data()),
          "write a chunk");
    return;
  }
  Extents start(plan.dims.size()), part = plan.dims;
  if (!part.empty() && plan.written == 2) part[0] = (part[0] + 1) / 2;
  if (!part.empty() && plan.written == 3 && part[0] > 0) start[0] = part[0] - 1, part[0] = 1;
  if (!part.empty())
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, part.data(), nullptr),
          "select");
  hsize_t selected = product(part, max_written);
  Handle memory(H5Screate_simple(1, &selected, nullptr), H5Sclose, "make an extent");
  check(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT,
                 values_of(plan, selected).data()),
        "write");
}

void write_attribute(hid_t object, Choices& choices) {
  constexpr std::array names = {"mean", "stddev", "class_names", "classes", "rows"};
  constexpr std::array<hsize_t, 8> counts = {1, 2, 3, 4, 0, 16, 300, 5};
  const char* name = choices.of(names);
  size_t kind = choices.below(6);
  uint8_t count_choice = choices.byte(), value = choices.byte();
  hsize_t count = counts[count_choice % counts.size()];
  Handle type = kind == 1   ? copied(H5T_STD_I64LE)
                : kind == 2 ? sized(H5T_C_S1, 1 + value % 8u)
                : kind == 3 ? sized(H5T_C_S1, H5T_VARIABLE)
                : kind == 4 ? pair_of_numbers()
                            : copied(H5T_IEEE_F64LE);
  Handle space = count_choice >= 128
                     ? Handle(H5Screate(H5S_SCALAR), H5Sclose, "make an extent")
                     : Handle(H5Screate_simple(1, &count, nullptr), H5Sclose, "make an extent");
  Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                   "make an attribute");
  if (kind == 5) return;  // never written
  if (kind == 0 || kind == 1) {
    std::vector<double> values(count + 1);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = value < 128 ? value : odd_numbers[(value + i) % odd_numbers.size()];
    check(H5Awrite(attribute, H5T_NATIVE_DOUBLE, values.data()), "write it");
  } else if (kind == 2) {
    std::string text((count + 1) * 8, static_cast<char>(value));
    check(H5Awrite(attribute, type, text.data()), "write it");
  } else if (kind == 3) {
    std::vector<const char*> words(count + 1, value % 8 == 7 ? nullptr : "a word");
    check(H5Awrite(attribute, type, words.data()), "write it");
  }
}

// One call of libhdf5 after another; what it refuses is left out.
template <typename Make>
void attempt(const Make& make) {
  parse_or_refuse(Category::checkpoint, make);
}

void write_dataset(hid_t file, const std::string& name, Choices& choices) {
  Plan plan = plan_of(choices);
  Handle type = type_of(plan.type);
  Handle space = space_of(plan);
  Handle creation = creation_of(plan, space);
  Handle dataset(H5Dcreate2(file, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                 H5Dclose, "make a dataset");
  if (plan.written != 0) attempt([&] { write_values(dataset, space, plan); });
  for (size_t i = choices.below(6); i > 0; --i) attempt([&] { write_attribute(dataset, choices); });
}

void write_member(hid_t file, const std::string& name, Choices& choices,
                  const std::filesystem::path& path) {
  switch (choices.below(8)) {
    case 1:
      return;
    case 2:
      Handle(
          H5Gcreate2(file, name.c_str(), H5P_DEFAULT, without_times(H5P_GROUP_CREATE), H5P_DEFAULT),
          H5Gclose, "make a group");
      return;
    case 3:
      check(H5Lcreate_soft("/train/images", file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT), "link");
      return;
    case 4:  // a link to itself
      check(H5Lcreate_soft(("/" + name).c_str(), file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
            "link");
      return;
    case 5:
      check(H5Lcreate_external(path.c_str(), "/train/images", file, name.c_str(), H5P_DEFAULT,
                               H5P_DEFAULT),
            "link");
      return;
    case 6:
      check(H5Tcommit2(file, name.c_str(), type_of(choices.byte()), H5P_DEFAULT,
                       without_times(H5P_DATATYPE_CREATE), H5P_DEFAULT),
            "name a type");
      return;
    default:
      write_dataset(file, name, choices);
  }
}

void append(Bytes& bytes, const Hdf5Part& part) {
  auto all = [&](const std::vector<uint8_t>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  constexpr uint8_t dataset = 0, fill = 0, all_rows = 1;
  all({dataset, part.type, static_cast<uint8_t>(part.extents.size())});
  all(part.extents);
  all({part.layout});
  all(part.chunk);
  all({part.filters, fill, all_rows, part.values, part.step,
       static_cast<uint8_t>(part.attributes.size())});
  for (const auto& attribute : part.attributes) all({attribute.begin(), attribute.end()});
}

}  // namespace

void write_hdf5(const std::filesystem::path& path, bool newest, Choices& choices) {
  h5::Session session;
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
  h5::disable_locking(access);
  if (newest)
    check(H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "choose the form");
  Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, without_times(H5P_FILE_CREATE), access),
              H5Fclose, "make it");
  for (const char* group : {"train", "test", "xxh3", "xxh3/train"})
    Handle(H5Gcreate2(file, group, H5P_DEFAULT, without_times(H5P_GROUP_CREATE), H5P_DEFAULT),
           H5Gclose, "make groups");
  for (const char* name : hdf5_names) attempt([&] { write_member(file, name, choices, path); });
}

std::vector<Bytes> hdf5_seeds() {
  using namespace hdf5_type;
  using namespace hdf5_attribute;
  constexpr uint8_t one = 0, two = 1, three = 2, four = 3, five = 4, eight = 5, ten = 15;
  constexpr uint8_t gzip = hdf5_filter::shuffle | hdf5_filter::deflate;
  // As trainer dataset convert writes them, except for the values of the checksums.
  Hdf5Part checksums = {.type = u64, .extents = {three}, .attributes = {{rows, integer, 128, 4}}};
  auto file = [&](const Hdf5Part& input, const Hdf5Part& target, uint8_t asked = 0) {
    Bytes bytes = {asked};
    for (int split = 0; split < 2; ++split) append(bytes, input), append(bytes, target);
    for (int column = 0; column < 2; ++column) append(bytes, checksums);
    return bytes;
  };
  Hdf5Part grey = {.type = u8, .extents = {ten, four, five}, .values = 100, .step = 7};
  Hdf5Part colour = {.type = u8,
                     .extents = {ten, four, five, three},
                     .layout = hdf5_layout::chunked,
                     .chunk = {four, four, five, three},
                     .filters = gzip,
                     .values = 100,
                     .step = 7};
  Hdf5Part labels = {.type = i64, .extents = {ten}, .values = 2};
  Hdf5Part named = labels;
  named.attributes = {{class_names, word, 2, 'a'}, {classes, integer, 128, 3}};
  Hdf5Part features = {.type = f64,
                       .extents = {ten, three},
                       .values = 50,
                       .attributes = {{mean, number, 2, 5}, {stddev, number, 2, 2}}};
  Hdf5Part values = {.type = f32, .extents = {ten, two}, .values = 9};
  Hdf5Part tokens = {.type = u16_be, .extents = {ten, eight}, .values = 7};
  Hdf5Part targets = tokens;
  targets.attributes = {{classes, integer, 128, 8}};
  targets.layout = hdf5_layout::chunked;
  targets.chunk = {three, eight};
  targets.filters = hdf5_filter::fletcher32;
  Hdf5Part single = {.type = i8, .extents = {one, one}, .layout = hdf5_layout::compact};
  Hdf5Part real = {.type = f64_be, .extents = {one}, .values = 1};
  constexpr uint8_t full_shuffle = 1, newest = 2;
  return {file(grey, labels), file(colour, named, full_shuffle | newest), file(features, values),
          file(tokens, targets), file(single, real)};
}

}  // namespace spire::fuzz
