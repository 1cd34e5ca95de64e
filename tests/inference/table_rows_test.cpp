// Checks tables of a user as input of a model.
#include <gmock/gmock.h>

#include "tests/inference/input_files.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Rows = std::vector<std::vector<float>>;

// Returns the spec of features of these names, normalized to (x - 1) / 2, (x - 2) / 4, ...
SampleSpec spec_of(const std::vector<std::string>& names, int64_t features,
                   DType dtype = DType::f32) {
  SampleSpec spec;
  spec.columns = {{"features", {features}, dtype}};
  spec.feature_names = names;
  for (int64_t f = 0; f < features; ++f) {
    spec.normalization.mean.push_back(static_cast<double>(f + 1));
    spec.normalization.stddev.push_back(static_cast<double>(2 << f));
  }
  return spec;
}

const SampleSpec width_height = spec_of({"width", "height"}, 2);

class Tables : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  ReadInputs read(const std::string& text, const SampleSpec& spec = width_height,
                  bool stop = true) const {
    return read_inputs({file("t.csv", text)}, spec, config_, stop);
  }
  // What a problem says behind "t.csv".
  std::string problem(const std::string& text, const SampleSpec& spec = width_height) const {
    std::string message = message_of(Category::data, [&] { read(text, spec); });
    std::string path = (folder_ / "t.csv").string();
    EXPECT_TRUE(message.starts_with(path)) << message;
    return message.substr(std::min(message.size(), path.size()));
  }

  Folder folder_;
  DataConfig config_;
};

TEST_F(Tables, FeaturesAreFoundByName) {
  Rows expected = {{1, 0.5}, {2, -0.25}};  // widths 3, 5; heights 4, 1
  for (const char* text : {"width,height\n3,4\n5,1\n", "height,width\n4,3\n1,5\n",
                           "height;width\r\n4;3\r\n1;5\r\n", "\"height\",width\n\"4\", 3\n1,+5e0"})
    EXPECT_EQ(read(text).rows, expected) << text;
  ReadInputs rows = read("width,height\n3,4\n5,1\n");
  EXPECT_THAT(rows.notes, IsEmpty());
  EXPECT_EQ(rows.origins[1].row, 1);
  EXPECT_EQ(rows.origins[1].file.name, "t.csv");
  EXPECT_FALSE(rows.origins[1].only);
}

TEST_F(Tables, NumbersThatAreInfiniteAsTheModelReadsThemAreRefused) {
  EXPECT_THAT(problem("width,height\n3,4\n5,1e40\n"),
              testing::StartsWith(":3:3: 'height': '1e40' is too large: as the model reads it"));
  EXPECT_THAT(problem("width,height\n3e5,4\n", spec_of({"width", "height"}, 2, DType::f16)),
              testing::StartsWith(":2:1: 'width': '3e5' is too large"));
  ReadInputs rows = read("width,height\n1e39,4\n5,1\n", width_height, false);
  EXPECT_EQ(rows.rows, (Rows{{2, -0.25}}));
  EXPECT_EQ(rows.problems.size(), 1u);
}

TEST_F(Tables, UnusedColumnsAreNamedOnceAndNotRead) {
  config_.csv.target = "price";
  ReadInputs rows = read("id,height,price,width,note\na,4,9,3,x\nb,1,?,5,\n");
  EXPECT_EQ(rows.rows, (Rows{{1, 0.5}, {2, -0.25}}));
  EXPECT_THAT(rows.notes,
              ElementsAre(HasSubstr(
                  "t.csv: columns that the model does not use are ignored: 'id', 'note'")));
}

TEST_F(Tables, ManyUnusedColumnsAreCounted) {
  EXPECT_THAT(read("width,height,a,b,c,d,e,f,g,h,i,j\n3,4,,,,,,,,,,\n").notes,
              ElementsAre(testing::EndsWith("'g', 'h' and 1 more")));  // j is the target
}

// Two columns may have one name, as in the training table.
TEST_F(Tables, EqualNamesAreTakenInTheirOrder) {
  EXPECT_EQ(read("x,x\n3,4\n", spec_of({"x", "x"}, 2)).rows, (Rows{{1, 0.5}}));
}

TEST_F(Tables, NumbersInTheHeaderAreNamesWhereTheModelKnowsThem) {
  EXPECT_EQ(read("2021,2020\n4,3\n", spec_of({"2020", "2021"}, 2)).rows, (Rows{{1, 0.5}}));
}

TEST_F(Tables, AModelWithoutNamesTakesColumnsInTheirOrder) {
  SampleSpec spec = spec_of({}, 2);
  Rows expected = {{1, 0.5}, {2, -0.25}};
  EXPECT_EQ(read("3,4\n5,1\n", spec).rows, expected);
  EXPECT_EQ(read("any,names\n3,4\n5,1\n", spec).rows, expected);
  EXPECT_EQ(read("3,4,cat\n5,1,dog\n", spec).rows, expected);  // the last is the target
  config_.csv.target = "0";
  EXPECT_EQ(read("cat,3,4\ndog,5,1\n", spec).rows, expected);
  EXPECT_EQ(problem("3\n", spec),
            ":1:1: there are 1 columns, but the model reads 2, in the order of its training data, "
            "and optionally the target; correct the file");
  EXPECT_THAT(problem("1,2,3,4\n", spec),
              HasSubstr(":1:1: there are 4 columns, but the model reads 2"));
}

TEST_F(Tables, WithoutNormalizationNumbersStayWhatTheyAre) {
  SampleSpec spec = width_height;
  spec.normalization = {};
  EXPECT_EQ(read("width,height\n3,4\n", spec).rows, (Rows{{3, 4}}));
}

TEST_F(Tables, SeveralFilesFollowOneAnother) {
  std::string one = file("one.csv", "width,height\n3,4\n5,1\n");
  std::string text = "height\twidth\n4\t3\n";
  write_file(folder_ / "two.csv.gz", gzip(Bytes(text.begin(), text.end())));
  ReadInputs rows = read_inputs({one, (folder_ / "two.csv.gz").string()}, width_height, config_);
  EXPECT_EQ(rows.rows, (Rows{{1, 0.5}, {2, -0.25}, {1, 0.5}}));
  EXPECT_EQ(rows.origins[2].row, 0);
  EXPECT_EQ(rows.origins[2].file.name, "two.csv.gz");
}

TEST_F(Tables, MissingColumnsAndRowsAreNamed) {
  EXPECT_EQ(
      problem("width,heihgt\n1,2\n"),
      ":1:1: there is no column 'height'; the columns are 'width', 'heihgt'; add the missing ones");
  EXPECT_EQ(problem("3,4\n5,1\n"),
            ":1:1: the first row has no column names; add a row that names 'width', 'height'");
  EXPECT_EQ(problem("width,height\n"), ": contains no rows; get an intact copy");
  EXPECT_EQ(problem(""), ": contains no rows; get an intact copy");
  config_.csv.separator = CsvConfig::Separator::comma;
  EXPECT_EQ(problem(""), ": contains no rows; get an intact copy");
}

struct MalformedRow {
  std::string name, row, message;

  friend std::ostream& operator<<(std::ostream& out, const MalformedRow& row) {
    return out << row.name;
  }
};

class MalformedTableRow : public Tables, public testing::WithParamInterface<MalformedRow> {};

TEST_P(MalformedTableRow, IsNamedOrLeftOut) {
  std::string text = "width,height,note\n3,4,a\n" + GetParam().row + "\n5,1,b\n";
  std::string expected = GetParam().message + "; correct the row";
  EXPECT_EQ(problem(text), expected);
  ReadInputs rows = read(text, width_height, false);
  EXPECT_EQ(rows.rows, (Rows{{1, 0.5}, {2, -0.25}}));
  EXPECT_EQ(rows.origins[1].row, 2);
  EXPECT_THAT(rows.problems, ElementsAre(testing::EndsWith(expected)));
}

constexpr const char* marks = " (data.csv.missing lists what stands for an empty field)";

INSTANTIATE_TEST_SUITE_P(
    TableRows, MalformedTableRow,
    testing::Values(
        MalformedRow{"Word", "3,four,x",
                     std::string(":3:3: 'height': 'four' is not a finite number") + marks},
        MalformedRow{"Missing", ",4,x",
                     ":3:1: 'width': '' is empty, which is refused (data.csv.blanks)"},
        MalformedRow{"Infinite", "inf,4,x",
                     std::string(":3:1: 'width': 'inf' is not a finite number") + marks},
        MalformedRow{"Short", "3,4", ":3:3: 2 fields, expected 3"},
        MalformedRow{"Long", "3,4,x,y", ":3:7: 4 fields, expected 3"},
        MalformedRow{"Quote", "3,4\"4,x",
                     ":3:4: a quote inside a field that does not begin with one"}),
    [](const auto& row) { return row.param.name; });

// After an error that leaves no row boundary the rest of the file is skipped; the next file is
// read.
TEST_F(Tables, AnOpenQuoteEndsItsFile) {
  std::string bad = file("bad.csv", "width,height\n3,4\n\"5,1\n7,7\n");
  std::string good = file("good.csv", "width,height\n5,1\n");
  ReadInputs rows = read_inputs({bad, good}, width_height, config_, false);
  EXPECT_EQ(rows.rows, (Rows{{1, 0.5}, {2, -0.25}}));
  EXPECT_THAT(rows.problems, ElementsAre(HasSubstr("bad.csv:3:1: this quote is never closed")));
}

TEST_F(Tables, AFolderIsNoTable) {
  EXPECT_EQ(message_of(Category::data,
                       [&] { read_inputs({folder_.path().string()}, width_height, config_); }),
            folder_.path().string() +
                ": is a folder, but the model reads features; name CSV, .npy, .npz or HDF5 files");
}

TEST_F(Tables, ADamagedSpecIsRefused) {
  SampleSpec names = width_height, means = width_height;
  names.feature_names.pop_back();
  means.normalization.mean.pop_back();
  for (const SampleSpec& spec : {names, means})
    EXPECT_EQ(message_of(Category::checkpoint,
                         [&] {
                           open_inputs({{"t.csv", "t.csv"}}, spec, config_, {});
                         }),
              "there are 2 features, but means or names of 1; use another checkpoint");
}

}  // namespace
}  // namespace spire
