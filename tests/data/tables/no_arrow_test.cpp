// A build without Apache Arrow says so where it meets a Parquet or Arrow file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/dataset_table.h"
#include "engine/data/text/text_tokens.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

TEST(Arrow, FilesAreRefusedInABuildWithoutItsLibrary) {
  Folder folder;
  write_text(folder / "table.parquet", "PAR1");
  DataConfig config = data_at("csv", folder / "table.parquet");
  EXPECT_THAT(open_refusal(config),
              testing::HasSubstr("table.parquet: this build cannot read Parquet and Arrow files; "
                                 "build Spire with Apache Arrow"));
  config.tokens.text = {config.path};
  EXPECT_THAT(message_of(Category::data, [&] { read_text_tokens(config.tokens); }),
              testing::HasSubstr("write the table as CSV, documents as JSONL"));
}

}  // namespace
}  // namespace spire
