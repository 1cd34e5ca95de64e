#include "engine/data/part_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <spire/random_stream.h>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/sampler.h"

namespace spire {
namespace {

struct PartWord {
  std::string_view word;
  Part part;
};

// Of two names for one part the earlier one is taken.
constexpr std::array part_words = {
    PartWord{"train", Part::train}, PartWord{"training", Part::train}, PartWord{"val", Part::val},
    PartWord{"valid", Part::val},   PartWord{"validation", Part::val}, PartWord{"dev", Part::val},
    PartWord{"test", Part::test},   PartWord{"testing", Part::test},
};

bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

const PartWord* find_word(std::string_view name) {
  auto found = std::ranges::find(part_words, lower_case(name), &PartWord::word);
  return found == part_words.end() ? nullptr : &*found;
}

const char* purpose_of(Part part) {
  return part == Part::train ? "training" : part == Part::val ? "validation" : "test";
}

// One name that means a part, and what of it does.
struct NamedPart {
  std::string name, word;

  // Orders by the table of words, then by small letters first, then by name.
  auto rank() const {
    const PartWord* found = find_word(word);
    return std::tuple(found - part_words.data(), word != found->word, name);
  }
};

// Returns the best name for a part, and notes the others.
std::string take_best(std::vector<NamedPart> candidates, Part part, const std::string& place,
                      std::vector<std::string>& notes) {
  if (candidates.empty()) return "";
  std::ranges::sort(candidates, {}, &NamedPart::rank);
  std::vector<std::string> unread;
  for (size_t i = 1; i < candidates.size(); ++i) unread.push_back(candidates[i].name);
  if (!unread.empty())
    notes.push_back(fmt::format("{}: {} not read, as '{}' is the {} data; leave one of them there",
                                place, quoted_list(unread), printable(candidates[0].name),
                                purpose_of(part)));
  return candidates[0].name;
}

}  // namespace

std::optional<Part> part_named(std::string_view name) {
  const PartWord* found = find_word(name);
  return found ? std::optional(found->part) : std::nullopt;
}

std::vector<std::string> words_for(Part part) {
  std::vector<std::string> words;
  for (const PartWord& each : part_words)
    if (each.part == part) words.emplace_back(each.word);
  return words;
}

void PartNames::use_validation_as_test(const std::string& place, const std::string& reason) {
  notes.push_back(fmt::format("{}: '{}' not read, as {}; '{}' is the test data", place,
                              printable(test), reason, printable(val)));
  test = std::exchange(val, "");
}

std::string part_word(std::string_view name) {
  while (true) {
    auto begin = std::ranges::find_if(name, is_letter);
    auto end = std::find_if_not(begin, name.end(), is_letter);
    std::string_view word(begin, end);
    if (word.empty() || find_word(word)) return std::string(word);
    name = std::string_view(end, name.end());
  }
}

PartNames choose_parts(const std::string& place, const std::vector<std::string>& names,
                       const ValConfig& val,
                       const std::function<std::string(const std::string& name)>& word_of) {
  PartNames parts;
  std::array<std::vector<NamedPart>, 3> of_part;  // by Part
  for (const std::string& name : names) {
    std::string word = word_of(name);
    if (auto part = part_named(word)) {
      of_part[static_cast<size_t>(*part)].push_back({name, std::move(word)});
    } else {
      parts.others.push_back(name);
    }
  }
  auto best = [&](Part part) {
    return take_best(std::move(of_part[static_cast<size_t>(part)]), part, place, parts.notes);
  };
  parts.train = best(Part::train);
  parts.val = best(Part::val);
  parts.test = best(Part::test);
  if (parts.test.empty()) parts.test = std::exchange(parts.val, "");
  bool by_path = val.path != "none";
  if (!parts.val.empty() && (by_path || val.share > 0))
    parts.notes.push_back(fmt::format(
        "{}: '{}' not read, as {} gives the validation data; leave that out to use it", place,
        printable(std::exchange(parts.val, "")), by_path ? "data.val.path" : "data.val.share"));
  return parts;
}

bool is_test_row(int64_t number, double test_share) {
  RandomStream draw(0, Purpose::test_split, split_streams::rows, static_cast<uint64_t>(number));
  return draw.uniform(0) < test_share;
}

std::string all_test_note(const std::string& what, const std::string& samples, const char* key) {
  return fmt::format(
      "{}: all {} count as test data, as the run was trained on other data; {}=0.1 keeps a tenth "
      "of them, as training does",
      what, samples, key);
}

std::vector<bool> test_images_of(std::span<const int32_t> labels, double share,
                                 const std::string& what) {
  std::vector<std::vector<size_t>> members;  // of each class
  for (size_t i = 0; i < labels.size(); ++i) {
    auto label = static_cast<size_t>(labels[i]);
    if (label >= members.size()) members.resize(label + 1);
    members[label].push_back(i);
  }
  std::vector<bool> chosen(labels.size());
  for (size_t label = 0; label < members.size(); ++label) {
    int64_t count = std::ssize(members[label]);
    if (count < 2) continue;
    int64_t part =
        std::clamp<int64_t>(std::lround(share * static_cast<double>(count)), 1, count - 1);
    const RandomStream key(0, Purpose::test_split, split_streams::test_images, label);
    for (int64_t i = 0; i < part; ++i)
      chosen[members[label][static_cast<size_t>(permuted(key, count, i))]] = true;
  }
  if (std::ranges::find(chosen, true) == chosen.end())
    fail(Category::data,
         "{}: no class has two images, so none can be kept for testing; add images, or a test set "
         "of its own",
         what);
  return chosen;
}

}  // namespace spire
