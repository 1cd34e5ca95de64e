// Fuzz target of CSV files: one file, split into training and test; malformed rows are refused or
// skipped.
#include "engine/config/words.h"
#include "engine/data/dataset_table.h"
#include "tests/data/test_files.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {
namespace {

int read(const std::filesystem::path& path, const char* on_error) {
  DataConfig config;
  config.path = path.string();
  config.on_error = *find_word<DataConfig::OnError>(on_error);
  config.csv.test_share = 0.5;
  return parse_or_refuse(Category::data, [&] {
    DatasetPair pair = open_csv(config, {});
    for (const Dataset* dataset : {pair.train.get(), pair.test.get()}) {
      require(dataset->count() >= 1, "a dataset without samples");
      read_column<float>(*dataset, 0, {0, dataset->count() - 1});
    }
    sample_spec_from_text(to_text(pair.train->spec()));
  });
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  MemoryFile file(data, size);
  int stopping = read(file.path(), "stop");
  int skipping = read(file.path(), "skip");
  require(stopping == refused || skipping == accepted, "skipping refuses what stopping accepts");
  return stopping;
}

std::vector<Bytes> seeds() {
  std::string numbers = "x,y\n", words = "\xef\xbb\xbf";
  for (int i = 0; i < 8; ++i) {
    numbers += std::to_string(i) + ".5," + std::to_string(i * i) + "e-3\r\n";
    words += std::to_string(i) + ";-1;\"a" + (i % 2 == 0 ? "\"\";\nb\"\n" : "\"\n");
  }
  return {bytes_of(numbers), bytes_of(words), gzip(bytes_of(numbers))};
}

}  // namespace spire::fuzz
