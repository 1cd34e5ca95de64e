// The program reads structure, attributes, checksums, the chunk index of both splits, and some of
// the rows. Without it files are opened unchecked, and a note says so.
#include "engine/data/formats/hdf5_check.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/base/hdf5_program.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/hdf5_table.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// names: of datasets, as the program takes them.
Hdf5CheckResult check_file(const fs::path& path, std::vector<std::string> names) {
  require_hdf5_file(path);
  Hdf5CheckResult checked = {ChangeDetectingReader(path).stamp(), {}};
  if (!h5::read_by_program(path, std::move(names), Category::data))
    checked.notes = {h5::unchecked_words(path)};
  return checked;
}

// The part of spire-hdf5-check that reads data files.

constexpr int64_t max_parts = 4;           // of a split's rows
constexpr int64_t checked_part = 1 << 20;  // of a part
constexpr std::array attributes = {"mean",        "stddev",     "feature_names",
                                   "class_names", "vocabulary", "classes"};

// Calls read() and ignores Error(data): a run that needs the part reports it. Here it only matters
// that reading ends.
template <typename Read>
void read_to_end(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.category() != Category::data) throw;
  }
}

void probe(const Hdf5Table& table) {
  table.read_chunk_index();
  table.layout();
  for (size_t column = 0; column < (table.has_target() ? 2 : 1); ++column)
    for (const char* name : attributes) {
      read_to_end([&] { table.words(column, name); });
      read_to_end([&] { table.numbers(column, name); });
    }
  auto row_bytes = static_cast<int64_t>(table.row_bytes());
  int64_t rows = std::clamp<int64_t>(checked_part / row_bytes, 1, table.count());
  std::array<std::vector<std::byte>, 2> memory;
  for (size_t c : {0, 1})
    memory[c].resize(static_cast<size_t>(rows) * table.columns()[c].row_bytes());
  int64_t last = table.count() - rows;
  for (int64_t part = 0; part < max_parts; ++part)
    read_to_end([&] {
      table.read(last * part / (max_parts - 1), rows,
                 std::array<std::byte*, 2>{memory[0].data(), memory[1].data()});
    });
}

void probe_file(const std::filesystem::path& path, const Hdf5Config& config) {
  PartNames parts = hdf5_parts(path, {});
  ArrayNames usual;
  for (const auto& [names, group] :
       {std::pair{&config.train, parts.train}, {&config.test, parts.test}, {&usual, parts.val}}) {
    if (group.empty()) continue;
    Hdf5Table table(path, *names, group);
    table.infer_columns();
    table.datasets_beside();
    read_to_end([&] { table.checksums(); });
    probe(table);
  }
}

void probe_samples(const std::filesystem::path& path, const ArrayNames& names) {
  Hdf5Table table(path, names);
  // Whatever the model reads them as.
  auto numbers = [&](size_t column) -> Column {
    return {"", Shape(table.stored(column).row), DType::f64};
  };
  table.set_columns({numbers(0), table.has_target() ? numbers(1) : Column()}, 1);
  probe(table);
}

}  // namespace

Hdf5CheckResult check_hdf5_file(const fs::path& path, const Hdf5Config& config) {
  return check_file(
      path, {config.train.input, config.train.target, config.test.input, config.test.target});
}

Hdf5CheckResult check_hdf5_samples(const fs::path& path, const ArrayNames& names) {
  return check_file(path, {names.input, names.target});
}

void hdf5_check_main(int argc, char** argv) {
  std::filesystem::path path = argc > 1 ? argv[1] : "";
  h5::end_with_verdict(path, Category::data, [&] {
    if (argc != 4 && argc != 6)
      fail(Category::config, "{} FILE [INPUT TARGET [INPUT TARGET]]", h5::check_program);
    ArrayNames first = {argv[2], argv[3]};
    translate_hdf5_errors(path, [&] {
      if (argc == 4) return probe_samples(path, first);
      Hdf5Config config;
      config.train = first;
      config.test = {argv[4], argv[5]};
      probe_file(path, config);
    });
  });
}

}  // namespace spire
