// Tests of tables in CSV files as datasets.
#pragma once
#include <gmock/gmock.h>

#include "tests/data/test_files.h"

namespace spire {

class CsvTest : public testing::Test {
 protected:
  DatasetPair open_pair(const std::string& train, const std::string& test) {
    write_text(folder_ / "train.csv", train);
    write_text(folder_ / "test.csv", test);
    config_.path = folder_.path().string();
    return open_dataset(config_, options_);
  }
  // Tests on the training rows.
  DatasetPair open_train(const std::string& train) { return open_pair(train, train); }
  std::string refusal(const std::string& train, Category category = Category::data) {
    return message_of(category, [&] { open_train(train); });
  }

  Folder folder_;
  DataConfig config_ = data_at("csv", folder_.path());
  ReadOptions options_;
};

}  // namespace spire
