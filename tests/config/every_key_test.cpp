// Tests every key of the schema with a bad value: the message names the place, the key, the found
// and the allowed values. A new row of the schema is tested without a change here.
#include <cmath>

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/config/schema.h"

namespace spire {
namespace {

// A YAML file with one key: a line for each section, and one for the key.
struct Written {
  std::string yaml;
  int key_column = 1, value_column = 1, line = 1;
  std::string key_place() const { return fmt::format("run.yaml:{}:{}", line, key_column); }
  std::string value_place() const { return fmt::format("run.yaml:{}:{}", line, value_column); }
};

Written write(std::string_view path, const std::string& value) {
  Written written;
  size_t begin = 0;
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', begin)) {
    written.yaml +=
        fmt::format("{:{}}{}:\n", "", written.key_column - 1, path.substr(begin, dot - begin));
    written.key_column += 2;
    ++written.line;
    begin = dot + 1;
  }
  std::string_view leaf = path.substr(begin);
  written.yaml += fmt::format("{:{}}{}: {}\n", "", written.key_column - 1, leaf, value);
  written.value_column = written.key_column + static_cast<int>(leaf.size()) + 2;
  return written;
}

std::string why_refused(const Written& written) {
  try {
    parse_config({{"run.yaml", written.yaml}}, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::config);
    return error.what();
  }
  return "accepted";
}

// A value of another type, and how messages name what the key expects.
struct Wrong {
  std::string value, expected, got;
};

struct WrongValue {
  Wrong operator()(bool*) const { return {"maybe", "true or false", "'maybe'"}; }
  Wrong operator()(int64_t*) const { return {"many", "an integer", "'many'"}; }
  Wrong operator()(uint64_t*) const { return {"many", "an integer >= 0", "'many'"}; }
  Wrong operator()(double*) const { return {"much", "a finite number", "'much'"}; }
  Wrong operator()(std::string*) const { return {"{a: b}", "a word", "a map"}; }
  Wrong operator()(const EnumSlot&) const { return {"{a: b}", "a word", "a map"}; }
  Wrong operator()(std::optional<int64_t>*) const { return {"[1]", "an integer", "a list"}; }
  Wrong operator()(std::vector<int64_t>*) const { return {"many", "a list of integers", "'many'"}; }
  Wrong operator()(std::vector<double>*) const { return {"much", "a list of numbers", "'much'"}; }
  Wrong operator()(std::vector<std::string>*) const { return {"{a: b}", "a word", "a map"}; }
  Wrong operator()(std::vector<WeightFactor>*) const {
    return {"7", "a map of patterns and factors", "'7'"};
  }
  Wrong operator()(std::vector<LayerConfig>*) const { return {"7", "a list of layers", "'7'"}; }
};

bool is_list(const Field& field) {
  RunConfig config;
  Slot slot = field.slot(config);
  return std::holds_alternative<std::vector<int64_t>*>(slot) ||
         std::holds_alternative<std::vector<double>*>(slot);
}

TEST(EveryKey, SaysWhatTypeItTakes) {
  for (const Field& field : schema()) {
    RunConfig config;
    Wrong wrong = std::visit(WrongValue(), field.slot(config));
    if (field.pairs) wrong.value = "{a: b, c: d}";
    if (field.maps) wrong = {"{a: [b]}", "a word", "a list"};
    Written written = write(field.path, wrong.value);
    std::string message = why_refused(written);
    EXPECT_THAT(message,
                testing::StartsWith(fmt::format("{}: {}: expected {}", written.value_place(),
                                                field.path, wrong.expected)));
    EXPECT_THAT(message, testing::HasSubstr(", got " + wrong.got));
  }
}

TEST(EveryKey, SaysThatAValueIsMissing) {
  for (const Field& field : schema()) {
    if (!field.unset.empty()) continue;  // null means something
    Written written = write(field.path, "");
    std::string message = why_refused(written);
    EXPECT_THAT(message, testing::StartsWith(fmt::format("{}: {}: the value is missing; expected ",
                                                         written.key_place(), field.path)));
  }
}

TEST(EveryKey, SaysWhichValuesAreInRange) {
  for (const Field& field : schema()) {
    const Range& range = field.range;
    RunConfig config;
    bool of_map = std::holds_alternative<std::vector<WeightFactor>*>(field.slot(config));
    if (range.text().empty() || of_map) continue;  // keys_test has the maps
    std::vector<double> outside;
    if (std::isfinite(range.low)) outside.push_back(range.low_open ? range.low : range.low - 1);
    if (std::isfinite(range.high)) outside.push_back(range.high_open ? range.high : range.high + 1);
    for (double value : outside) {
      std::string number = fmt::format("{}", value);
      if (number.find('e') != number.npos) number = fmt::format("{:.0f}", value);
      Written written = write(field.path, is_list(field) ? "[" + number + "]" : number);
      EXPECT_EQ(why_refused(written),
                fmt::format("{}: {}: {} is out of range; it must be {}", written.value_place(),
                            field.path, number, range.text()));
    }
  }
}

TEST(EveryKey, SaysWhichWordsItKnows) {
  for (const Field& field : schema()) {
    if (field.choices.empty()) continue;
    Written written = write(field.path, "qqqqqqqqqqqq");
    EXPECT_EQ(
        why_refused(written),
        fmt::format("{}: {}: unknown value 'qqqqqqqqqqqq'; must be {}{}", written.value_place(),
                    field.path,
                    field.choices.size() == 1 ? "" : "one of: ", fmt::join(field.choices, ", ")));
  }
}

TEST(EveryKey, IsSuggestedForATypo) {
  for (const Field& field : schema()) {
    std::string typo = field.path;
    typo.insert(typo.size() - leaf_of(typo).size() / 2, 1, 'q');
    Written written = write(typo, "1");
    EXPECT_EQ(why_refused(written), fmt::format("{}: {}: unknown key; did you mean '{}'?",
                                                written.key_place(), typo, field.path));
  }
}

TEST(EveryKey, IsNotSuggestedForAnUnrelatedNeighbour) {
  for (const Field& field : schema()) {
    std::string section(section_of(field.path));
    std::string other = section.empty() ? "frobnicated_quux" : section + ".frobnicated_quux";
    Written written = write(other, "1");
    EXPECT_EQ(why_refused(written),
              fmt::format("{}: {}: unknown key; trainer --help-config lists all keys",
                          written.key_place(), other));
  }
}

TEST(NearestKey, IsCloseInEachPartOfItsPath) {
  EXPECT_EQ(nearest_key("data.augment.posterize"), "");  // a common section is not enough
  EXPECT_EQ(nearest_key("data.augment.invert"), "");
  EXPECT_EQ(nearest_key("data.augment.rotate"), "data.augment.affine.rotate");
  EXPECT_EQ(nearest_key("data.batch_size"), "batch_size");
  EXPECT_EQ(nearest_key("optimizer.amsgrad"), "");
  EXPECT_EQ(nearest_key("data.augment.corp"), "data.augment.crop");
  EXPECT_EQ(nearest_key("data.augmnt.crop"), "data.augment.crop");
  EXPECT_EQ(nearest_key("modle.name"), "model.name");
  EXPECT_EQ(nearest_key("optimzer.momentun"), "optimizer.momentum");
  EXPECT_EQ(nearest_key("data.augmnt"), "data.augment");
  EXPECT_EQ(nearest_key("momentum"), "optimizer.momentum");
}

}  // namespace
}  // namespace spire
