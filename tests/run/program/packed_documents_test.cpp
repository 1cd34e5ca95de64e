// A whole run on packed documents: one hash on any devices and processes, evaluations with samples,
// and predictions that begin and end as documents do.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

TEST(PackedDocuments, TrainAndPredict) {
  RunFolder folder;
  std::ofstream file(folder / "all.jsonl");
  for (int i = 0; i < 40; ++i)
    file << fmt::format("{{\"body\": \"{}\"}}\n", std::string(static_cast<size_t>(3 + i % 9), 'a'));
  file.close();
  auto run = [&](const std::string& name, const Words& more) {
    return trainer(Words{"data.name=tokens", "data.tokens.text=" + (folder / "all.jsonl").string(),
                         "data.tokens.field=body", "data.tokens.vocabulary=characters",
                         "data.tokens.documents=packed", "data.tokens.length=16",
                         "data.val.share=0.2", "output=" + (folder / name).string(), "batch_size=1",
                         "towers=3", "tower_threads=1", "model.name=llama", "model.blocks=1",
                         "model.width=16", "model.heads=2", "steps=30", "eval.samples=1"} +
                   more);
  };
  Output straight = run("straight", {"devices=1xcpu"});
  ASSERT_EQ(straight.code, 0) << straight.err;
  for (const Words& hosts :
       std::vector<Words>{{"devices=3xcpu"}, {"devices=1xcpu", "--processes", "2"}})
    EXPECT_EQ(printed_hash(run("other", hosts + Words{"--overwrite"})), printed_hash(straight));
  // A document is some letters a; then the model writes the separator, which ends the text.
  Output text = trainer({"predict", "--checkpoint", (folder / "straight").string(), "--prompt", "a",
                         "--prompt", "aa", "--tokens", "200"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, testing::HasSubstr("\"ended\":\"stop\""));
  EXPECT_THAT(text.out, testing::Not(testing::HasSubstr("u0003")));
}

}  // namespace
}  // namespace spire
