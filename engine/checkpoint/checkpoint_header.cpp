#include "engine/checkpoint/checkpoint_header.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <span>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/npy_magic.h"

namespace spire {
namespace {

constexpr std::string_view magic = "spire checkpoint\n";
constexpr uint64_t smallest_block = 512;
constexpr uint64_t largest_block = uint64_t{1} << 28;

std::string checksum_of(std::string_view bytes) {
  return hex(hash64(bytes.data(), bytes.size()));
}

// Removes the text up to `end` from the front of `text` and returns it; nothing without an `end`.
std::optional<std::string_view> take(std::string_view& text, char end) {
  size_t at = text.find(end);
  if (at == text.npos) return std::nullopt;
  std::string_view word = text.substr(0, at);
  text.remove_prefix(at + 1);
  return word;
}

std::optional<uint64_t> number(std::optional<std::string_view> word) {
  uint64_t value = 0;
  if (!word || word->empty()) return std::nullopt;
  auto [end, error] = std::from_chars(word->data(), word->data() + word->size(), value);
  if (error != std::errc{} || end != word->data() + word->size()) return std::nullopt;
  return value;
}

// Takes the line "<key> <value>" from the front of `text` and returns the value.
std::string_view field(std::string_view& text, std::string_view key) {
  auto word = take(text, ' ');
  auto value = take(text, '\n');
  if (word != key || !value) fail(Category::checkpoint, "its header is damaged at '{}'", key);
  return *value;
}

uint64_t number_field(std::string_view& text, std::string_view key) {
  auto value = number(field(text, key));
  if (!value) fail(Category::checkpoint, "its header is damaged at '{}'", key);
  return *value;
}

// "<offset> <bytes> <checksum> <name>"; the name is the rest of the line.
TensorExtent parse_extent(std::string_view line) {
  auto offset = number(take(line, ' '));
  auto bytes = number(take(line, ' '));
  auto checksum = take(line, ' ');
  if (!offset || !bytes || !checksum) fail(Category::checkpoint, "its header is damaged");
  return {std::string(line), *offset, *bytes, std::string(*checksum)};
}

// The last line is the checksum of all lines before it. Only zeros may follow.
void check_block(std::string_view block) {
  size_t at = block.rfind("\ncheck ");
  if (at == block.npos) fail(Category::checkpoint, "its header is damaged: no checksum");
  std::string_view rest = block.substr(at + 1);
  bool good = field(rest, "check") == checksum_of(block.substr(0, at + 1)) &&
              rest.find_first_not_of('\0') == rest.npos;
  if (!good) fail(Category::checkpoint, "its header fails its checksum");
}

// Tensors lie behind the block, in ascending order, without overlap, within the file.
void check_extents(const Header& header) {
  uint64_t at = header.block;
  for (const auto& extent : header.extents) {
    bool inside = extent.offset >= at && extent.offset <= header.file_bytes &&
                  extent.bytes <= header.file_bytes - extent.offset;
    if (!inside) fail(Category::checkpoint, "its header is damaged at '{}'", extent.name);
    at = extent.offset + extent.bytes;
  }
}

// The lines in the order of to_text().
Header parse_block(std::string_view block) {
  check_block(block);
  std::string_view text = block.substr(magic.size());
  Header header;
  header.block = number_field(text, "block");
  header.file_bytes = number_field(text, "bytes");
  header.structure = field(text, "structure");
  while (text.starts_with("tensor ")) header.extents.push_back(parse_extent(field(text, "tensor")));
  check_extents(header);
  return header;
}

// What files of other programs begin with.
std::string_view kind_of_other(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("\x89HDF\r\n\x1a\n"sv))
    return "an HDF5 file of another program, such as Keras, and ";
  if (bytes.starts_with("PK\x03\x04"sv))
    return "an archive, as Keras (.keras), PyTorch (.pt) and NumPy (.npz) write them, and ";
  if (bytes.starts_with(npy_magic)) return "an array of NumPy (.npy), and ";
  // The number behind the mark is the protocol.
  if (bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5)
    return "a pickled file, as older versions of PyTorch (.pth) write them, and ";
  if (bytes.size() > 9 && bytes.substr(8).starts_with("{\""sv)) return "a safetensors file, and ";
  return "";
}

// Adds bytes [begin, end) of the file to the hash, in pieces.
void add_bytes(const CheckpointBytes& file, uint64_t begin, uint64_t end, Hash64& hash) {
  std::vector<char> piece(std::min<uint64_t>(end - begin, uint64_t{1} << 20));
  while (begin < end) {
    std::span<char> part(piece.data(), std::min<uint64_t>(piece.size(), end - begin));
    file.read(begin, part);
    hash.add(part.data(), part.size());
    begin += part.size();
  }
}

std::string checksum_of(const CheckpointBytes& file, const TensorExtent& extent) {
  Hash64 hash;
  add_bytes(file, extent.offset, extent.offset + extent.bytes, hash);
  return hex(hash.value());
}

}  // namespace

void CheckpointBytes::read(uint64_t offset, std::span<char> out) const {
  bool inside = offset <= size() && out.size() <= size() - offset;
  if (!inside || file_.read_at(offset, std::as_writable_bytes(out)) < out.size())
    fail(Category::checkpoint, "it is cut off after {} bytes", size());
}

std::string CheckpointBytes::read(uint64_t offset, uint64_t count) const {
  if (count > size()) fail(Category::checkpoint, "it is cut off after {} bytes", size());
  std::string bytes(count, '\0');
  read(offset, bytes);
  return bytes;
}

uint64_t header_bytes(const std::vector<std::string>& names) {
  uint64_t bytes = 160;  // all lines but the tensors', with the longest numbers
  // "tensor ", offset, bytes and checksum with a blank each, the name, the end of the line.
  for (const auto& name : names) bytes += name.size() + 7 + 21 + 21 + 17 + 1;
  return std::max(smallest_block, std::bit_ceil(bytes));
}

std::string to_text(const Header& header) {
  std::string text(magic);
  text += fmt::format("block {}\nbytes {}\nstructure {}\n", header.block, header.file_bytes,
                      header.structure);
  for (const auto& extent : header.extents)
    text += fmt::format("tensor {} {} {} {}\n", extent.offset, extent.bytes, extent.checksum,
                        extent.name);
  text += fmt::format("check {}\n", checksum_of(text));
  require(text.size() <= header.block, "checkpoint header: {} bytes in a block of {}", text.size(),
          header.block);
  text.resize(header.block, '\0');
  return text;
}

// The block's size is read from its first bytes, which are not verified yet; so it is bounded.
Header read_header(const CheckpointBytes& file) {
  std::string block = file.read(0, std::min(smallest_block, file.size()));
  std::string_view text = block;
  if (!text.starts_with(magic))
    fail(Category::checkpoint,
         "it is {}not a Spire checkpoint; init.from, and load_weights() of a program, read weights "
         "from safetensors files, and trainer export writes ONNX and safetensors",
         kind_of_other(text));
  text.remove_prefix(magic.size());
  uint64_t size = number_field(text, "block");
  if (size < smallest_block || size > largest_block || !std::has_single_bit(size))
    fail(Category::checkpoint, "its header is damaged at 'block'");
  return parse_block(file.read(0, size));
}

// Runs before libhdf5 sees a byte, because that library does not survive every damaged file.
Header verify_header(const CheckpointBytes& file) {
  Header header = read_header(file);
  if (file.size() < header.file_bytes)
    fail(Category::checkpoint, "it is cut off: {} of {} bytes", file.size(), header.file_bytes);
  if (file.size() > header.file_bytes)
    fail(Category::checkpoint, "it has {} bytes after its end", file.size() - header.file_bytes);
  Hash64 structure;  // of the gaps between the tensors, in order of the file
  uint64_t at = header.block;
  for (const auto& extent : header.extents) {
    add_bytes(file, at, extent.offset, structure);
    if (checksum_of(file, extent) != extent.checksum)
      fail(Category::checkpoint, "tensor {} fails its checksum", extent.name);
    at = extent.offset + extent.bytes;
  }
  add_bytes(file, at, header.file_bytes, structure);
  if (hex(structure.value()) != header.structure)
    fail(Category::checkpoint, "its structure fails its checksum");
  return header;
}

}  // namespace spire
