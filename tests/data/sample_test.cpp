#include "engine/data/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const SampleSpec full = {
    .columns = {{"images", {32, 30, 3}, DType::bf16}, {"labels", {}, DType::i32}},
    .classes = 2,
    .class_names = {"cat \"quoted\"", "d\xc3\xb6g\n"},
    .normalization = {{0.1, 1.0 / 3.0, -5e-324}, {1e-30, 0.25, 1e300}},
    .feature_names = {"a", ""},
    .vocabulary = "characters:\"a\\n\"",
    .target_scale = {{2e5}, {3.25}}};

TEST(SampleSpecText, RestoresEverything) {
  EXPECT_EQ(sample_spec_from_text(to_text(full)), full);
  SampleSpec table = {
      .columns = {{"features", {4}, DType::f32}},
      .table = {{.name = "a", .blank = 1.0 / 3.0},
                {.name = "b", .levels = {"", "d\xc3\xb6g"}, .embedded = true, .blank = 0},
                {.name = "c", .form = FieldForm::comma, .unit = "%", .marks = {"", "-"}}},
      .target = {.form = FieldForm::point, .unit = "$"}};
  EXPECT_EQ(sample_spec_from_text(to_text(table)), table);
  SampleSpec least = {.columns = {{"values", {}, DType::f32}}};
  EXPECT_EQ(sample_spec_from_text(to_text(least)), least);
}

// One word of the text is replaced by another one.
std::string damaged(const std::string& from, const std::string& to) {
  std::string text = to_text(full);
  size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

TEST(SampleSpecText, DamageIsRefusedByTheNameOfTheKey) {
  struct Case {
    std::string text, says;
  };
  for (const Case& one : std::vector<Case>{
           {"", "JSON"},
           {"[]", "JSON"},
           {"{\"columns\":", "JSON"},
           {damaged("\"columns\"", "\"column\""), "columns: expected a value"},
           {damaged("[32,30,3]", "[32,-30,3]"), "shape: expected a whole number"},
           {damaged("[32,30,3]", "[1.5]"), "shape: expected a whole number"},
           {damaged("[32,30,3]", "[1,1,1,1,1,1,1]"), "shape: expected 6 dimensions"},
           {damaged("[32,30,3]", "[1000000,1000000,1000000]"), "shape: expected fewer"},
           {damaged("[32,30,3]", "3"), "shape: expected a list"},
           {damaged("\"bf16\"", "\"bf17\""), "dtype: expected an element type"},
           {damaged("\"bf16\"", "7"), "dtype: expected a word"},
           {damaged("\"classes\":2", "\"classes\":-2"), "classes: expected"},
           {damaged("\"classes\":2", "\"classes\":3"), "class_names: expected 3 names"},
           {damaged("0.25", "\"x\""), "stddev: expected finite numbers"},
           {damaged("0.25", "0"), "stddev: expected numbers above 0"},
           {damaged("0.25,", ""), "stddev: expected as many numbers"},
           {damaged("[\"a\",\"\"]", "[1]"), "feature_names: expected a word"},
           {damaged("3.25", "-3.25"), "stddev: expected numbers above 0"},
           {damaged("\"classes\":2", "\"table\":7,\"classes\":2"), "table: expected a list"},
           {damaged("\"classes\":2",
                    R"("table":[{"name":"a","levels":[],"embedded":false,"blank":0}],"classes":2)"),
            "table: expected 2880 features"},
           {damaged("\"classes\":2",
                    R"("table":[{"name":"a","levels":[],"embedded":1,"blank":0}],"classes":2)"),
            "embedded: expected true or false"},
       }) {
    std::string message =
        message_of(Category::checkpoint, [&] { sample_spec_from_text(one.text); });
    EXPECT_THAT(message, HasSubstr(one.says)) << one.text;
  }
}

TEST(SampleSpecText, NeedsAColumn) {
  EXPECT_THAT(
      message_of(Category::checkpoint, [] { sample_spec_from_text(to_text(SampleSpec{})); }),
      HasSubstr("columns: expected one at least"));
}

// No cut and no changed byte does more than be refused or read as some other description.
TEST(SampleSpecText, AnyDamageIsAnErrorOrAnotherText) {
  std::string text = to_text(full);
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_THROW(sample_spec_from_text(text.substr(0, i)), Error);
    for (char flipped : {'\0', '9', '"', '\xff'}) {
      std::string other = text;
      other[i] = flipped;
      try {
        sample_spec_from_text(other);
      } catch (const Error& error) {
        ASSERT_EQ(error.category(), Category::checkpoint);
      }
    }
  }
}

// Replaced, two names could become one.
TEST(SampleSpecText, NamesThatAreNoUtf8AreRefused) {
  SampleSpec spec = full;
  spec.class_names[0] = "caf\xe9";
  EXPECT_THAT(message_of(Category::data, [&] { to_text(spec); }),
              AllOf(HasSubstr("the class 'caf\\xe9' is not UTF-8"), HasSubstr("iconv"),
                    HasSubstr("convmv")));
}

}  // namespace
}  // namespace spire
