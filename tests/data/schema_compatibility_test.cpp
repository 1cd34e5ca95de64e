// Matching of data with a trained model: classes and features by name.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/dataset.h"
#include "engine/data/sample.h"
#include "tests/data/test_files.h"
#include "tests/data/text/bpe_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Names = std::vector<std::string>;

// Sample i has features i + 0.1, i + 0.2, ... and label i modulo classes.
class Counted : public Dataset {
 public:
  explicit Counted(SampleSpec spec) : spec_(std::move(spec)) {}
  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return 6; }
  void read(std::span<const int64_t> samples, int64_t,
            std::span<std::byte* const> columns) const override {
    auto* features = reinterpret_cast<float*>(columns[0]);
    auto* labels = reinterpret_cast<int32_t*>(columns[1]);
    for (int64_t sample : samples) {
      for (int64_t f = 0; f < spec_.columns[0].shape[0]; ++f)
        *features++ = static_cast<float>(sample) + static_cast<float>(f + 1) / 10;
      *labels++ = static_cast<int32_t>(sample % spec_.classes);
    }
  }

 private:
  SampleSpec spec_;
};

SampleSpec spec_of(const Names& classes, const Names& features, int64_t feature_count = 3) {
  SampleSpec spec;
  if (!features.empty()) feature_count = std::ssize(features);
  spec.columns = {{"features", {feature_count}, DType::f32}, {"labels", {}, DType::i32}};
  spec.classes = classes.empty() ? 3 : std::ssize(classes);
  spec.class_names = classes;
  spec.feature_names = features;
  return spec;
}

DatasetPair pair_of(const SampleSpec& spec) {
  return {std::make_unique<Counted>(spec), std::make_unique<Counted>(spec)};
}

DatasetPair fitted(const SampleSpec& found, const SampleSpec& trained, bool classes = true) {
  return match_trained_schema(pair_of(found), trained, "step_5.h5", classes);
}

std::string refusal(const SampleSpec& found, const SampleSpec& trained) {
  return message_of(Category::data, [&] { fitted(found, trained); });
}

const Names test_classes = {"cat", "coat", "dog"}, test_features = {"x", "y", "z"};

TEST(SchemaCompatibility, TheSameNamesChangeNothing) {
  SampleSpec spec = spec_of(test_classes, test_features);
  DatasetPair data = pair_of(spec);
  const Dataset* test = data.test.get();
  data = match_trained_schema(std::move(data), spec, "step_5.h5", true);
  EXPECT_EQ(data.test.get(), test);
  EXPECT_THAT(data.notes, IsEmpty());
}

// macOS writes letters and accents of names apart (NFD), others together.
TEST(SchemaCompatibility, NamesInAnotherUnicodeFormAreTheSame) {
  SampleSpec apart = spec_of({"a\u0308", "b"}, {"o\u0308", "x"}),
             together = spec_of({"\u00e4", "b"}, {"\u00f6", "x"});
  DatasetPair same = fitted(apart, together);
  EXPECT_THAT(same.notes, IsEmpty());
  EXPECT_THAT(read_column<int32_t>(*same.test, 1, {0, 1}), ElementsAre(0, 1));
  SampleSpec turned = spec_of({"b", "a\u0308"}, {"o\u0308", "x"});
  EXPECT_THAT(read_column<int32_t>(*fitted(turned, together).test, 1, {0, 1}), ElementsAre(1, 0));
}

TEST(SchemaCompatibility, LabelsAreRenumberedInEveryOrderOfTheClasses) {
  Names order = test_classes;
  do {
    for (const Names& features : {Names(), test_features}) {
      DatasetPair data = fitted(spec_of(order, features), spec_of(test_classes, features));
      for (const Dataset* half : {data.train.get(), data.test.get()}) {
        EXPECT_EQ(half->spec().class_names, test_classes);
        auto labels = read_column<int32_t>(*half, 1, {0, 1, 2, 3, 4, 5});
        std::vector<int32_t> alone(6);
        half->read_labels(0, alone);
        EXPECT_EQ(labels, alone);
        for (size_t i = 0; i < 6; ++i)
          EXPECT_EQ(test_classes[static_cast<size_t>(labels[i])], order[i % 3]);
      }
      EXPECT_EQ(data.notes.size(), order == test_classes ? 0u : 1u);
    }
  } while (std::ranges::next_permutation(order).found);
}

TEST(SchemaCompatibility, FeaturesArePutInOrderInEveryOrderOfTheColumns) {
  Names trained = {"a", "b", "c", "d"}, order = trained;
  do {
    SampleSpec found = spec_of(test_classes, order), known = spec_of(test_classes, trained);
    found.normalization = {{1, 2, 3, 4}, {1, 2, 3, 4}};
    DatasetPair data = fitted(found, known);
    EXPECT_EQ(data.test->spec().feature_names, trained);
    auto numbers = read_column<float>(*data.test, 0, {2, 5});
    for (size_t i = 0; i < 8; ++i) {
      auto place = std::ranges::find(order, trained[i % 4]) - order.begin();
      float sample = i < 4 ? 2 : 5;
      EXPECT_EQ(numbers[i], sample + static_cast<float>(place + 1) / 10);
      EXPECT_EQ(data.test->spec().normalization.mean[i % 4], static_cast<double>(place + 1));
    }
    EXPECT_THAT(read_column<int32_t>(*data.test, 1, {2, 5}), ElementsAre(2, 2));
  } while (std::ranges::next_permutation(order).found);
}

TEST(SchemaCompatibility, OtherNamesAreRefusedWithBothLists) {
  EXPECT_THAT(
      refusal(spec_of({"cat", "dog", "jacket"}, {}), spec_of(test_classes, {})),
      HasAll("other classes than step_5.h5 was trained on",
             "the data has 'cat', 'dog', 'jacket' (3)", "the checkpoint 'cat', 'coat', 'dog' (3)",
             "only in the data: 'jacket'", "only in the checkpoint: 'coat'"));
  struct Case {
    Names found, trained;
  };
  for (const auto& [found, trained] :
       {Case{{"cat", "dog"}, test_classes}, Case{{"bird", "cat", "coat", "dog"}, test_classes},
        Case{{"Cat", "coat", "dog"}, test_classes},
        Case{{"dog", "dog", "cat"}, {"cat", "dog", "dog"}}, Case{{"0", "1", "2"}, test_classes}}) {
    EXPECT_THAT(refusal(spec_of(found, {}), spec_of(trained, {})), HasSubstr("other classes"));
    EXPECT_THAT(refusal(spec_of(test_classes, found), spec_of(test_classes, trained)),
                HasSubstr("other columns"));
  }
}

TEST(SchemaCompatibility, LongListsAreShortened) {
  Names many, others;
  for (int i = 0; i < 1000; ++i) many.push_back(fmt::format("n{:08d}", i));
  others = many;
  others[500] = "jacket";
  std::string message = refusal(spec_of(others, {}), spec_of(many, {}));
  EXPECT_THAT(message, HasAll("'n00000007' and 992 more (1000)", "only in the data: 'jacket'",
                              "only in the checkpoint: 'n00000500'"));
  EXPECT_LT(message.size(), 700u);
}

TEST(SchemaCompatibility, NamesThatOnlyOneSideHasAreANote) {
  for (bool found : {false, true}) {
    SampleSpec named = spec_of(test_classes, test_features), bare = spec_of({}, {});
    DatasetPair data = fitted(found ? named : bare, found ? bare : named);
    EXPECT_THAT(data.notes, ElementsAre(HasSubstr("the columns cannot be compared"),
                                        HasSubstr("the classes cannot be compared")));
    EXPECT_THAT(
        data.notes[0],
        HasSubstr(found
                      ? "the checkpoint has no names for them; make sure that they are the same, in"
                      : "the data has no names for them"));
  }
  EXPECT_THAT(fitted(spec_of({}, {}), spec_of({}, {})).notes, IsEmpty());
}

TEST(SchemaCompatibility, CountsKindsAndScalesAreCompared) {
  SampleSpec four = spec_of({}, {}), three = spec_of({}, {});
  four.classes = 4;
  EXPECT_THAT(refusal(four, three), HasSubstr("4 classes, but step_5.h5 was trained on 3"));
  EXPECT_THAT(refusal(spec_of({}, {}, 4), three), HasSubstr("features (4)"));
  SampleSpec values = three;
  values.columns[1] = {"values", {1}, DType::f32};
  EXPECT_THAT(refusal(values, three), HasSubstr("the data has 'features', 'values'"));
  SampleSpec scaled = three;
  scaled.normalization = {{0, 0, 0}, {1, 1, 1}};
  EXPECT_THAT(fitted(scaled, three).notes, ElementsAre(HasSubstr("normalized by other means")));
  SampleSpec bf16 = three;
  bf16.columns[0].dtype = DType::bf16;
  EXPECT_THAT(fitted(bf16, three).notes, IsEmpty());
}

TEST(SchemaCompatibility, ClassesDoNotMatterToAModelThatReadsNone) {
  EXPECT_THAT(fitted(spec_of({"a", "b"}, {}), spec_of(test_classes, {}), false).notes, IsEmpty());
}

SampleSpec tokens(const std::string& vocabulary, int64_t size) {
  SampleSpec spec;
  spec.columns = {{"tokens", {4}, DType::i32}, {"targets", {4}, DType::i32}};
  spec.vocabulary = vocabulary;
  spec.classes = size;
  return spec;
}

TEST(SchemaCompatibility, VocabulariesAreCompared) {
  SampleSpec abc = tokens("characters:\"abc\"", 3);
  EXPECT_THAT(fitted(abc, abc).notes, IsEmpty());
  EXPECT_THAT(refusal(tokens("characters:\"abd\"", 3), abc),
              HasAll("other tokens", "only in the data: 'd'", "only in the checkpoint: 'c'"));
  EXPECT_THAT(refusal(tokens("bytes", 256), abc), HasSubstr("other tokens"));
  EXPECT_THAT(fitted(tokens("", 3), abc).notes, ElementsAre(HasSubstr("cannot be compared")));
  EXPECT_THAT(refusal(tokens("", 4), abc), HasSubstr("4 tokens in its vocabulary"));
}

// The folder of a vocabulary's files may move; what is in them counts.
TEST(SchemaCompatibility, VocabulariesInFilesAreComparedByTheirTokens) {
  Folder folder;
  write_bpe(folder / "a", "#version: 0.2\na b\n", {"ab"});
  write_bpe(folder / "b", "#version: 0.2\na b\n", {"ab"});
  write_bpe(folder / "c", "#version: 0.2\na c\n", {"ac"});
  auto spec = [&](const std::string& name) {
    return tokens("gpt2:" + (folder / name).string(), 257);
  };
  EXPECT_THAT(fitted(spec("b"), spec("a")).notes, IsEmpty());
  EXPECT_THAT(refusal(spec("c"), spec("a")), HasSubstr("only in the data: 'ac'"));
  EXPECT_THAT(fitted(spec("a"), spec("gone")).notes, ElementsAre(HasSubstr("cannot be compared")));
}

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
              HasAll("the class 'caf\\xe9' is not UTF-8", "iconv", "convmv"));
}

}  // namespace
}  // namespace spire
