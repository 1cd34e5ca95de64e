#include "engine/data/formats/webdataset_index.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <nlohmann/json.hpp>

#include <spire/error.h>

#include "engine/data/formats/tar_file.h"
#include "engine/data/images/image_decode.h"
#include "engine/data/images/image_folder.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;

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

ShardIndex index_shards(const std::vector<fs::path>& shards) {
  ShardIndex index;
  ShardIndexer indexer(index);
  for (const fs::path& shard : shards) indexer.add(shard);
  if (index.images.empty())
    fail(Category::data, "{}: no {} in the shards; check data.path",
         shards.empty() ? "data.path" : shards.front().string(), image_endings);
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

}  // namespace spire::inline data
