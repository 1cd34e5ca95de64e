// Fuzz target of damaged HDF5 files as datasets. libhdf5 crashes on damage, so a search would find
// its bugs and not Spire's (README.md): this target is only replayed, on files of the newest format
// version without strings of variable length, whose checksums cover all but the numbers.
#include "engine/config/words.h"
#include "engine/data/dataset_table.h"
#include "tests/data/test_files.h"
#include "tests/fuzz/hdf5_recipe.h"
#include "tests/fuzz/memory_file.h"

namespace spire::fuzz {

namespace {

// task: data.hdf5.task; targets called labels may be values of a regression.
int read(const std::filesystem::path& path, const char* task) {
  DataConfig config;
  config.path = path.string();
  config.hdf5.cache_mib = 16;
  config.hdf5.task = *find_word<TargetKind>(task);
  int verdict = refused;
  parse_or_refuse(Category::config, [&] {
    verdict = parse_or_refuse(Category::data, [&] {
      DatasetPair pair = open_hdf5(config, {});
      for (const Dataset* dataset : {pair.train.get(), pair.test.get()})
        for (int64_t sample : {int64_t{0}, dataset->count() / 2, dataset->count() - 1})
          read_column<std::byte>(*dataset, 0, {sample});
    });
  });
  return verdict;
}

}  // namespace

int consume(const uint8_t* data, size_t size) {
  MemoryFile file(data, size);
  int verdict = read(file.path(), "auto");
  return verdict == refused ? read(file.path(), "value") : verdict;
}

// Returns the files of the target hdf5 in the newest format version.
std::vector<Bytes> seeds() {
  std::vector<Bytes> files;
  for (const Bytes& recipe : hdf5_seeds()) {
    MemoryFile file(nullptr, 0);
    Choices choices(recipe.data(), recipe.size());
    choices.byte();  // options of the reader
    write_hdf5(file.path(), true, choices);
    files.push_back(file_bytes(file.path()));
  }
  return files;
}

}  // namespace spire::fuzz
