// Files that hold several documents, by their names and in folders.
#include "engine/data/text/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/test_files.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Documents, AreKnownByTheNamesOfFiles) {
  for (const char* name :
       {"a.jsonl", "a.jsonl.gz", "x/a.parquet", "a.arrow", "a.feather", "a.ipc.gz"})
    EXPECT_TRUE(holds_documents(name)) << name;
  for (const char* name : {"a.txt", "a.json", "parquet"})
    EXPECT_FALSE(holds_documents(name)) << name;
}

TEST(Documents, OfAFolderAreSorted) {
  TemporaryFolder folder, texts, empty;
  for (const char* name : {"b.jsonl", "a.jsonl.gz", "c.txt", "a.parquet"})
    write_text(folder / name, "");
  EXPECT_THAT(document_files(folder.path()),
              ElementsAre(folder / "a.jsonl.gz", folder / "a.parquet", folder / "b.jsonl"));
  for (const char* name : {"b.txt", "a.md", ".c.txt", "d.png"}) write_text(texts / name, "");
  EXPECT_THAT(document_files(texts.path()), ElementsAre(texts / "a.md", texts / "b.txt"));
  EXPECT_THAT(message_of(Category::data, [&] { document_files(empty.path()); }),
              AllOf(StartsWith(empty.path().string()), HasSubstr("has no *.jsonl")));
}

}  // namespace
}  // namespace spire
