#include "engine/data/numpy/npy_array.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/npy_magic.h"
#include "engine/base/read_file.h"
#include "engine/base/text.h"

namespace spire {
namespace {

constexpr size_t max_header_bytes = 1 << 20;
constexpr int64_t max_npy_row = int64_t{1} << 30;
constexpr size_t max_read_bytes = 1 << 20;  // of rows of one column that are read at once

[[noreturn]] void refuse_damage(const std::string& location, const std::string& what) {
  fail(Category::data, "{}: {}; it is no intact .npy file, write it again by numpy.save", location,
       what);
}

// Returns what follows 'key': in the header, a dict of Python; nullopt if there is no such key.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string word = fmt::format("{}{}{}", quote, key, quote);
    size_t at = header.find(word);
    if (at == header.npos) continue;
    std::string_view rest = header.substr(at + word.size());
    size_t begin = rest.find_first_not_of(" :");
    if (begin != rest.npos) return rest.substr(begin);
  }
  return {};
}

// Parses "(60000, 28, 28)".
std::optional<std::vector<int64_t>> shape_in(std::string_view text) {
  size_t end = text.find(')');
  if (!text.starts_with('(') || end == text.npos) return {};
  text = text.substr(1, end - 1);
  std::vector<int64_t> shape;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    size_t first = part.find_first_not_of(' ');
    if (first == part.npos) continue;  // (3,) and ()
    part = part.substr(first, part.find_last_not_of(' ') + 1 - first);
    int64_t dim = 0;
    auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), dim);
    if (error != std::errc() || stop != part.data() + part.size() || dim < 0) return {};
    shape.push_back(dim);
  }
  return shape;
}

// Calls visit with a zero of the stored type. f16 is widened by its own type.
template <typename Visit>
void with_stored_type(char kind, size_t bytes, const Visit& visit) {
  if (kind == 'f')
    return bytes == 2 ? visit(float16{}) : bytes == 4 ? visit(float{}) : visit(double{});
  if (kind == 'i')
    return bytes == 1   ? visit(int8_t{})
           : bytes == 2 ? visit(int16_t{})
           : bytes == 4 ? visit(int32_t{})
                        : visit(int64_t{});
  return bytes == 1   ? visit(uint8_t{})
         : bytes == 2 ? visit(uint16_t{})
         : bytes == 4 ? visit(uint32_t{})
                      : visit(uint64_t{});
}

template <typename To, typename From>
To converted(From x) {
  if constexpr (std::is_same_v<From, float16>) {
    return converted<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, int32_t> && std::is_integral_v<From>) {
    using Limits = std::numeric_limits<int32_t>;
    if (std::cmp_less(x, Limits::min())) return Limits::min();
    return std::cmp_greater(x, Limits::max()) ? Limits::max() : static_cast<int32_t>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <typename To>
void convert(char kind, size_t bytes, const std::byte* from, size_t count, std::byte* out) {
  with_stored_type(kind, bytes, [&](auto type) {
    using From = decltype(type);
    const auto* numbers = reinterpret_cast<const From*>(from);
    auto* to = reinterpret_cast<To*>(out);
    for (size_t i = 0; i < count; ++i) to[i] = converted<To>(numbers[i]);
  });
}

bool is_known(char kind, size_t bytes) {
  bool power = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (kind == 'f') return power && bytes > 1;
  return kind == 'b' ? bytes == 1 : (kind == 'i' || kind == 'u') && power;
}

constexpr std::string_view ending = ".npy";

using Words = std::vector<std::string>;

const Words& words_of(NpyRole role) {
  static const Words inputs = {"x", "images", "features", "tokens"};
  static const Words targets = {"y", "labels", "values", "targets", "target_images", "masks"};
  return role == NpyRole::input ? inputs : targets;
}

// Returns the names of a part's array, in the order in which they are looked for.
Words candidates(NpyRole role, Part part) {
  Words names;
  for (const std::string& split : words_for(part)) {
    for (const std::string& word : words_of(role)) names.push_back(word + "_" + split);
    for (const std::string& word : words_of(role)) names.push_back(split + "_" + word);
  }
  if (part == Part::train) std::ranges::copy(words_of(role), std::back_inserter(names));
  return names;
}

std::string key_of(NpyRole role, Part part) {
  return fmt::format("data.npy.{}.{}", words_for(part).front(),
                     role == NpyRole::input ? "input" : "target");
}

std::string without_ending(std::string name) {
  if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name;
}

// What messages say of an archive's content; empty for a folder.
std::string content_of(const NpySet& set) {
  if (!set.is_archive()) return "";
  return "; it has " + quoted_list(set.names());
}

}  // namespace

NpyArray::NpyArray(ByteSource bytes) : source_(std::move(bytes)) {
  std::array<std::byte, 12> begin{};
  if (source_.bytes() < begin.size()) refuse_damage(location(), "has no header");
  source_.read(0, begin);
  if (std::memcmp(begin.data(), npy_magic.data(), npy_magic.size()) != 0)
    refuse_damage(location(), "does not begin with \\x93NUMPY");
  auto byte = [&](size_t i) { return std::to_integer<size_t>(begin[i]); };
  bool first = byte(6) == 1;  // version 1.0 has 2 bytes of length, the later ones 4
  if (byte(6) < 1 || byte(6) > 3)
    fail(Category::data,
         "{}: is of version {}.{} of the format .npy; this program reads 1.0 to 3.0", location(),
         byte(6), byte(7));
  size_t length = byte(8) | byte(9) << 8;
  if (!first) length |= byte(10) << 16 | byte(11) << 24;
  size_t start = first ? 10 : 12;
  if (length > max_header_bytes || start + length > source_.bytes())
    refuse_damage(location(), "ends within its header");
  std::string header(length, '\0');
  source_.read(start, std::as_writable_bytes(std::span(header)));
  offset_ = start + length;
  parse(header);
}

void NpyArray::parse(std::string_view header) {
  auto type = value_of(header, "descr"), order = value_of(header, "fortran_order"),
       shape = value_of(header, "shape");
  if (!type || !order || !shape) refuse_damage(location(), "its header lacks a key");
  std::string name(type->substr(0, std::min(type->find_first_of(",}", 1), type->size())));
  // '<f4': order of bytes, kind, bytes.
  size_t bytes = 0;
  bool plain = name.size() >= 5 && (name[0] == '\'' || name[0] == '"');
  if (plain) std::from_chars(name.data() + 3, name.data() + name.size(), bytes);
  if (plain && (name[2] == 'U' || name[2] == 'S' || name[2] == 'O'))
    fail(Category::data,
         "{}: its values are {}, not numbers; of labels that are words save {}, of which "
         "numpy.unique(y) has the names",
         location(), name[2] == 'O' ? "objects of Python" : "texts",
         "numpy.unique(y, return_inverse=True)[1]");
  if (!plain || !is_known(name[2], bytes))
    fail(Category::data,
         "{}: its numbers are {}; only bool, integers and floats are read: convert them, for "
         "example x.astype('float32')",
         location(), name);
  constexpr char other = std::endian::native == std::endian::little ? '>' : '<';
  if (name[1] == other)
    fail(Category::data,
         "{}: its numbers are {}, in another order of bytes than this machine's; save "
         "x.astype(x.dtype.newbyteorder('='))",
         location(), name);
  if (order->starts_with("True"))
    fail(Category::data,
         "{}: is in Fortran's order, columns first; save numpy.ascontiguousarray(x)", location());
  kind_ = name[2];
  bytes_ = bytes;
  auto dims = shape_in(*shape);
  if (!dims) refuse_damage(location(), "its shape cannot be read");
  shape_ = std::move(*dims);
  check_size();
}

// Refuses shapes that the file's size does not account for, before memory is allocated for them.
void NpyArray::check_size() const {
  if (shape_.empty() || std::ranges::count(shape_, 0) > 0)
    fail(Category::data, "{}: has no rows; its shape is ({})", location(), fmt::join(shape_, ", "));
  uint64_t total = bytes_;
  for (int64_t dim : shape_)
    if (__builtin_mul_overflow(total, static_cast<uint64_t>(dim), &total))
      refuse_damage(location(), "its shape is too large");
  if (total > source_.bytes() - offset_)
    refuse_damage(location(), fmt::format("has {} bytes of numbers, but its shape needs {}",
                                          source_.bytes() - offset_, total));
  if (total / static_cast<uint64_t>(shape_[0]) > static_cast<uint64_t>(max_npy_row))
    fail(Category::data, "{}: has rows of over {} MiB; it is not a set of samples", location(),
         max_npy_row >> 20);
}

int64_t NpyArray::row_elements() const {
  int64_t elements = 1;
  for (size_t axis = 1; axis < shape_.size(); ++axis) elements *= shape_[axis];
  return elements;
}

StoredArray NpyArray::stored() const {
  StoredArray array{.location = location(), .row = {shape_.begin() + 1, shape_.end()}};
  bool whole = kind_ != 'f', natural = kind_ == 'u' || kind_ == 'b';
  if (whole) array.numbers = Numbers::integers;
  if (natural && bytes_ == 1) array.numbers = Numbers::bytes;
  if (natural && bytes_ == 2) array.numbers = Numbers::words16;
  array.exact = bytes_ <= (whole ? 2 : 4);
  return array;
}

void NpyArray::read(int64_t first, int64_t rows, DType dtype, std::vector<std::byte>& memory,
                    std::byte* out) const {
  size_t row = static_cast<size_t>(row_elements());
  size_t count = static_cast<size_t>(rows) * row;
  memory.resize(count * bytes_);
  source_.read(offset_ + static_cast<uint64_t>(first) * row * bytes_, memory);
  if (dtype == DType::u8) return void(std::memcpy(out, memory.data(), count));
  if (dtype == DType::i32) return convert<int32_t>(kind_, bytes_, memory.data(), count, out);
  if (dtype == DType::f32) return convert<float>(kind_, bytes_, memory.data(), count, out);
  convert<double>(kind_, bytes_, memory.data(), count, out);
}

std::string NpyArray::layout() const {
  const char* kind = kind_ == 'f' ? "float" : kind_ == 'i' ? "int" : kind_ == 'u' ? "uint" : "bool";
  return fmt::format("{}: {}{} ({})", source_.name(), kind, bytes_ * 8, fmt::join(shape_, ", "));
}

NpyTable::NpyTable(std::shared_ptr<const NpyArray> input, std::shared_ptr<const NpyArray> target,
                   std::vector<int64_t> rows)
    : arrays_{std::move(input), std::move(target)}, rows_(std::move(rows)) {
  if (has_target() && array(0).rows() != array(1).rows())
    fail(Category::data, "{}: has {} rows, but {} has {}; use files of one set", location(1),
         array(1).rows(), location(0), array(0).rows());
  count_ = rows_.empty() ? array(0).rows() : std::ssize(rows_);
}

int64_t NpyTable::stored_row(int64_t sample) const {
  return rows_.empty() ? sample : rows_[static_cast<size_t>(sample)];
}

// Returns how many of `rows` rows from `first` on lie side by side in the files.
int64_t NpyTable::neighbours(int64_t first, int64_t rows) const {
  if (rows_.empty()) return rows;
  int64_t count = 1;
  while (count < rows && stored_row(first + count) == stored_row(first) + count) ++count;
  return count;
}

void NpyTable::read(int64_t first, int64_t rows, std::span<std::byte* const> columns) const {
  thread_local std::vector<std::byte> memory;  // of stored bytes; grows once a reader thread
  for (size_t c : {0, 1}) {
    if (columns[c] == nullptr) continue;
    size_t row_bytes = columns_[c].row_bytes();
    auto at_once = static_cast<int64_t>(std::max<size_t>(1, max_read_bytes / row_bytes));
    for (int64_t done = 0, some; done < rows; done += some) {
      some = neighbours(first + done, std::min(at_once, rows - done));
      array(c).read(stored_row(first + done), some, columns_[c].dtype, memory,
                    columns[c] + static_cast<size_t>(done) * row_bytes);
    }
  }
}

std::vector<std::string> NpyTable::layout() const {
  std::vector<std::string> lines;
  for (const auto& array : arrays_)
    if (array) lines.push_back(array->layout());
  return lines;
}

std::vector<std::filesystem::path> NpyTable::files() const {
  std::vector<std::filesystem::path> files = {array(0).path()};
  if (array(1).path() != files[0]) files.push_back(array(1).path());
  return files;
}

void NpyTable::verify_files() const {
  for (const auto& array : arrays_) array->verify();
}

NpySet::NpySet(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    archive_ = std::make_unique<ZipFile>(path);
    for (const std::string& entry : archive_->names()) names_.push_back(without_ending(entry));
    return;
  }
  // Of a folder that may not be listed, files are found by exact names.
  for (std::filesystem::directory_iterator at(path_, error), end; !error && at != end;
       at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.ends_with(ending) && !name.starts_with('.') && at->is_regular_file(error))
      names_.push_back(without_ending(name));
  }
  std::ranges::sort(names_);
}

// numpy.savez appends .npy to the names of arrays; other writers may not.
std::string NpySet::entry_of(const std::string& name) const {
  std::string entry = fmt::format("{}{}", name, ending);
  return archive_->has(entry) ? entry : name;
}

bool NpySet::has(const std::string& name) const {
  return archive_ ? archive_->has(entry_of(name))
                  : is_there(path_ / fmt::format("{}{}", name, ending));
}

std::shared_ptr<const NpyArray> NpySet::open(const std::string& name) const {
  return archive_ ? std::make_shared<NpyArray>(archive_->open(entry_of(name)))
                  : std::make_shared<NpyArray>(path_ / fmt::format("{}{}", name, ending));
}

std::optional<std::string> find_array(const NpySet& set, NpyRole role, Part part,
                                      const std::string& configured) {
  if (configured != "auto") {
    std::string name = without_ending(configured);
    if (!set.has(name))
      fail(Category::data, "{}: {}: there is no array {}{}; correct the name", set.path().string(),
           key_of(role, part), name, content_of(set));
    return name;
  }
  const std::vector<std::string>& names = set.names();
  for (const std::string& wanted : candidates(role, part)) {
    if (set.has(wanted)) return wanted;
    auto found = std::ranges::find(names, wanted, lower_case);
    if (found != names.end()) return *found;
  }
  return {};
}

std::string require_array(const NpySet& set, NpyRole role, Part part,
                          const std::string& configured) {
  if (auto name = find_array(set, role, part, configured)) return *name;
  Words names;
  for (const std::string& word : words_of(role))
    names.push_back(
        fmt::format("{}_{}{}", word, words_for(part).front(), set.is_archive() ? "" : ending));
  fail(Category::data, "{}: there is no {} {}{}; save it by such a name, or set {}",
       set.path().string(), set.is_archive() ? "array" : "file", fmt::join(names, ", "),
       content_of(set), key_of(role, part));
}

}  // namespace spire
