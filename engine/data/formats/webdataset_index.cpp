// An archive is a sequence of blocks of 512 bytes: for each member a header and its content, padded
// with zeros; two blocks of zeros end it. A member of type x, g or L describes the one behind it.
// Files that were joined (cat a.tar b.tar) have members behind such an end.
#include "engine/data/formats/webdataset_index.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/data/images/image_folder.h"
#include "engine/data/images/image_formats.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t block_bytes = 512;
constexpr uint64_t max_description = 1 << 20;  // bytes of a member that describes another

using Block = std::array<char, block_bytes>;

struct TarField {
  size_t begin, length;
};
constexpr TarField name_field{0, 100}, size_field{124, 12}, checksum_field{148, 8};
constexpr TarField magic_field{257, 5}, prefix_field{345, 155};
constexpr size_t type_at = 156;

// Returns a field up to its first zero byte.
std::string_view text_of(const Block& block, TarField field) {
  std::string_view text(block.data() + field.begin, field.length);
  return text.substr(0, text.find('\0'));
}

// Octal digits, between blanks; or with the first bit set a binary number (GNU).
std::optional<uint64_t> number_of(const Block& block, TarField field) {
  auto first = static_cast<uint8_t>(block[field.begin]);
  uint64_t value = first & 0x7f;
  if ((first & 0x80) != 0) {
    for (size_t i = 1; i < field.length; ++i) {
      if (value >> 55 != 0) return {};  // 2^63 bytes and more
      value = value << 8 | static_cast<uint8_t>(block[field.begin + i]);
    }
    return value;
  }
  std::string_view text = text_of(block, field);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || rest.find_first_not_of(' ') != rest.npos) return {};
  return value;
}

// The sum of all bytes, those of the checksum itself counted as blanks.
uint64_t checksum_of(const Block& block) {
  uint64_t sum = checksum_field.length * ' ';
  for (size_t i = 0; i < block.size(); ++i)
    if (i < checksum_field.begin || i >= checksum_field.begin + checksum_field.length)
      sum += static_cast<uint8_t>(block[i]);
  return sum;
}

class TarReader {
 public:
  explicit TarReader(const RegularFile& archive) : archive_(archive) {}

  void read(const std::function<void(TarMember)>& use) {
    while (read_header()) {
      TarMember member = member_of_header();
      char type = block_[type_at];
      if (type == 'x' || type == 'L') {
        describe_next(type, content_of(member));
      } else {
        apply_description(member);
        if (type == '0' || type == '\0' || type == '7') use(member);
      }
      at_ = member.offset + (member.bytes + block_bytes - 1) / block_bytes * block_bytes;
    }
  }

 private:
  [[noreturn]] void fail_at(uint64_t byte, const std::string& problem) const {
    fail(Category::data, "{}: byte {}: {}", archive_.path().string(), byte, problem);
  }

  // Returns false at the end of the file. Zeros end an archive, behind which another may begin.
  bool read_header() {
    bool ended = false;
    while (true) {
      block_.fill(0);
      size_t got = archive_.read_at(at_, std::as_writable_bytes(std::span(block_)));
      bool zeros = std::ranges::all_of(block_, [](char byte) { return byte == 0; });
      if (got < block_.size() && !ended)
        fail_at(at_, "truncated: the archive ends without the mark of its end; get an intact copy");
      if (got < block_.size() && zeros) return false;
      if (!zeros) break;
      ended = true;
      at_ += block_bytes;
    }
    if (at_ == 0 && block_[0] == '\x1f' && block_[1] == '\x8b')
      fail_at(0, "a compressed archive, whose files cannot be read in place; unpack it by gunzip");
    if (number_of(block_, checksum_field) != checksum_of(block_))
      fail_at(at_, ended ? "no tar archive, but data behind the end of one; get an intact copy"
                         : "no header of a tar archive; get an intact copy");
    return true;
  }

  TarMember member_of_header() const {
    std::string name(text_of(block_, name_field));
    // The field prefix is POSIX's; GNU's own headers ("ustar ") have other things there.
    bool posix = text_of(block_, magic_field) == "ustar" && block_[262] == '\0';
    if (std::string_view prefix = text_of(block_, prefix_field); posix && !prefix.empty())
      name = std::string(prefix) + "/" + name;
    std::optional<uint64_t> bytes = number_of(block_, size_field);
    if (!bytes) fail_at(at_ + size_field.begin, "the size is no number; get an intact copy");
    if (block_[type_at] == 'S') fail_at(at_, "a sparse file, which is not supported");
    TarMember member{.name = std::move(name), .offset = at_ + block_bytes, .bytes = *bytes};
    // Links and folders have no content, whatever their size says.
    if (block_[type_at] >= '1' && block_[type_at] <= '6') member.bytes = 0;
    require_inside(member);
    return member;
  }

  void require_inside(const TarMember& member) const {
    uint64_t room = archive_.bytes() - std::min(archive_.bytes(), member.offset);
    if (member.bytes > room)
      fail_at(at_, fmt::format("truncated within '{}', which has {} bytes; get an intact copy",
                               member.name, member.bytes));
  }

  std::string content_of(const TarMember& member) const {
    if (member.bytes > max_description) fail_at(at_, "a header of more than 1 MiB");
    std::string content(member.bytes, '\0');
    archive_.read_at(member.offset, std::as_writable_bytes(std::span(content)));
    return content;
  }

  void describe_next(char type, const std::string& content) {
    if (type == 'L') {
      next_name_ = content.c_str();  // up to the first zero byte
      return;
    }
    // Lines "<length of the line> <key>=<value>\n".
    for (size_t at = 0; at < content.size();) {
      size_t length = 0;
      auto [end, error] =
          std::from_chars(content.data() + at, content.data() + content.size(), length);
      auto digits = static_cast<size_t>(end - content.data()) - at;
      if (error != std::errc() || length > content.size() - at || length < digits + 3)
        fail_at(at_, "a damaged pax header; get an intact copy");
      take_record(std::string_view(content).substr(at + digits + 1, length - digits - 2));
      at += length;
    }
  }

  void take_record(std::string_view record) {
    std::string_view key = record.substr(0, record.find('='));
    std::string_view value = record.substr(std::min(key.size() + 1, record.size()));
    if (key == "path") next_name_ = std::string(value);
    if (key.starts_with("GNU.sparse")) fail_at(at_, "a sparse file, which is not supported");
    if (key != "size") return;
    uint64_t bytes = 0;
    auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), bytes);
    if (error != std::errc() || end != value.data() + value.size())
      fail_at(at_, "a damaged pax header; get an intact copy");
    next_bytes_ = bytes;
  }

  void apply_description(TarMember& member) {
    if (next_name_) member.name = *next_name_;
    if (next_bytes_) member.bytes = *next_bytes_;
    require_inside(member);
    next_name_.reset();
    next_bytes_.reset();
  }

  const RegularFile& archive_;
  uint64_t at_ = 0;  // of the present header
  Block block_{};
  std::optional<std::string> next_name_;  // from a description of the next member
  std::optional<uint64_t> next_bytes_;
};

constexpr int64_t max_shard_classes = 1 << 20;
constexpr uint64_t max_label_bytes = 1 << 20;

struct MemberName {
  std::string key, ending;  // "a/b.seg.png": a/b and .seg.png
};

MemberName parts_of(const std::string& name) {
  size_t base = name.rfind('/') + 1;  // 0 if there is none
  size_t dot = std::min(name.find('.', base), name.size());
  return {name.substr(0, dot), name.substr(dot)};
}

// Returns the class that a .cls or .json member states; nullopt if it states none.
std::optional<int64_t> stated_label(const std::string& ending, const std::string& text) {
  if (ending == ".json") {
    auto json = nlohmann::json::parse(text, nullptr, false);
    for (const char* key : {"label", "cls"})
      if (json.is_object() && json.contains(key) && json[key].is_number_integer())
        return json[key].get<int64_t>();
    return {};
  }
  size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  int64_t label = 0;
  auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), label);
  bool only = std::string_view(end, static_cast<size_t>(text.data() + text.size() - end))
                  .find_first_not_of(" \t\r\n") == std::string_view::npos;
  return error == std::errc() && only ? std::optional(label) : std::nullopt;
}

class ShardIndexer {
 public:
  explicit ShardIndexer(ShardIndex& index) : index_(index) {}

  void add(const fs::path& path) {
    RegularFile shard(path, Category::data);
    index_.shards.push_back(path);
    index_.stamps.push_back(stamp_of(shard.descriptor(), path));
    for_each_member(shard, [&](const TarMember& member) { take(shard, member); });
    finish();
    require_unchanged(path, index_.stamps.back(), stamp_of(shard.descriptor(), path));
  }

 private:
  struct Sample {
    std::string key;
    std::optional<TarMember> image;
    std::optional<int64_t> label;
    std::string labelled_by = {};  // the member that states the label
    uint64_t first = 0, last = 0;  // offsets of its first and last member
    std::string dotted = {};       // an image of the sample whose ending has more than one dot
  };

  [[noreturn]] void fail_in(const std::string& member, const std::string& problem) const {
    fail(Category::data, "{}: '{}': {}", index_.shards.back().string(), member, problem);
  }

  void take(const RegularFile& shard, const TarMember& member) {
    MemberName name = parts_of(member.name);
    if (name.key != sample_.key) {
      finish();
      sample_.first = member.offset;
    }
    sample_.key = name.key;
    sample_.last = member.offset;
    if (is_image_name("x" + name.ending) && name.ending.rfind('.') == 0) {
      if (sample_.image) fail_in(member.name, "a second image of the sample; keep one of them");
      if (member.bytes > max_image_bytes)
        fail_in(member.name, fmt::format("it has {} bytes, but images may have at most {}",
                                         member.bytes, max_image_bytes));
      sample_.image = member;
    } else if (name.ending == ".cls" || name.ending == ".json") {
      take_label(shard, member, name.ending);
    } else {
      bool hidden = name.ending == member.name.substr(member.name.rfind('/') + 1);
      if (is_image_name("x" + name.ending) && !hidden && sample_.dotted.empty())
        sample_.dotted = member.name;
      ignore(member.name);
    }
  }

  void take_label(const RegularFile& shard, const TarMember& member, const std::string& ending) {
    if (member.bytes > max_label_bytes) fail_in(member.name, "a label of more than 1 MiB");
    std::string text(member.bytes, '\0');
    shard.read_at(member.offset, std::as_writable_bytes(std::span(text)));
    std::optional<int64_t> label = stated_label(ending, text);
    if (!label && ending == ".cls") fail_in(member.name, "it is not one whole number, the class");
    if (!label) return ignore(member.name);
    if (*label < 0 || *label >= max_shard_classes)
      fail_in(member.name,
              fmt::format("label {}, expected 0 to {}", *label, max_shard_classes - 1));
    if (sample_.label && sample_.label != label)
      fail_in(member.name,
              fmt::format("it says that the label is {}, but '{}' says {}; correct one of them",
                          *label, sample_.labelled_by, *sample_.label));
    sample_.label = label;
    sample_.labelled_by = member.name;
  }

  void ignore(const std::string& member) {
    if (index_.ignored++ == 0) index_.first_ignored = member;
  }

  // Says whether the label lacks, or lies elsewhere in the shard.
  [[noreturn]] void fail_without_label() const {
    const std::string& image = sample_.image->name;
    RegularFile shard(index_.shards.back(), Category::data);
    for_each_member(shard, [&](const TarMember& member) {
      MemberName name = parts_of(member.name);
      if (name.key == sample_.key && (name.ending == ".cls" || name.ending == ".json") &&
          (member.offset < sample_.first || member.offset > sample_.last))
        fail_in(image,
                fmt::format("its '{}' is not beside it, but the members of a sample stand together "
                            "in WebDataset's shards; write the shard again by tar --sort=name",
                            member.name));
    });
    fail_in(image,
            "no label: add a member of the same name that ends in .cls, or in .json with the "
            "key label");
  }

  // Adds the sample whose members have all been seen.
  void finish() {
    if (sample_.image && !sample_.label) fail_without_label();
    if (!sample_.image && !sample_.dotted.empty())
      fail_in(sample_.dotted,
              fmt::format("a sample's name ends at its first dot in WebDataset's shards, which "
                          "makes this the sample '{}' without an image; write names without dots",
                          sample_.key));
    if (sample_.image)
      index_.images.push_back({.key = sample_.image->name,
                               .shard = static_cast<int32_t>(index_.shards.size() - 1),
                               .label = static_cast<int32_t>(*sample_.label),
                               .offset = sample_.image->offset,
                               .bytes = sample_.image->bytes});
    else if (sample_.label)
      ignore(sample_.key);
    sample_ = {};
  }

  ShardIndex& index_;
  Sample sample_;
};

// A number with its leading zeros.
struct BraceNumber {
  int64_t value;
  size_t digits;
};

std::optional<BraceNumber> brace_number(std::string_view text) {
  BraceNumber number{0, text.size()};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.value);
  bool good = error == std::errc() && end == text.data() + text.size() && number.value >= 0;
  return good ? std::optional(number) : std::nullopt;
}

}  // namespace

void for_each_member(const RegularFile& archive, const std::function<void(TarMember)>& use) {
  TarReader(archive).read(use);
}

ShardIndex index_shards(const std::vector<fs::path>& shards) {
  ShardIndex index;
  ShardIndexer indexer(index);
  for (const fs::path& shard : shards) indexer.add(shard);
  if (index.images.empty())
    fail(Category::data, "{}: no {} in the shards; check data.path",
         shards.empty() ? "data.path" : shards.front().string(), image_endings());
  return index;
}

std::vector<std::string> expand_braces(const std::string& pattern) {
  constexpr int64_t max_texts = 1'000'000;
  size_t open = pattern.find('{');
  if (open == std::string::npos) return {pattern};
  size_t close = pattern.find('}', open), dots = pattern.find("..", open);
  std::optional<BraceNumber> first, last;
  if (close != std::string::npos && dots != std::string::npos && dots < close) {
    first = brace_number(std::string_view(pattern).substr(open + 1, dots - open - 1));
    last = brace_number(std::string_view(pattern).substr(dots + 2, close - dots - 2));
  }
  if (!first || !last || first->value > last->value || last->value - first->value >= max_texts)
    fail(Category::config,
         "data.path: the braces of {} are no range of numbers; write {{000..123}}, of at most {} "
         "numbers",
         pattern, max_texts);
  std::vector<std::string> ends = expand_braces(pattern.substr(close + 1)), texts;
  if (last->value - first->value + 1 > max_texts / std::ssize(ends))
    fail(Category::config, "data.path: {} stands for more than {} shards", pattern, max_texts);
  for (int64_t i = first->value; i <= last->value; ++i)
    for (const std::string& end : ends)
      texts.push_back(fmt::format("{}{:0{}}{}", pattern.substr(0, open), i, first->digits, end));
  return texts;
}

}  // namespace spire
