// The program reads structure, attributes, checksums, the chunk index of both splits, and some of
// the rows. Without it files are opened unchecked, and a note says so.
#include "engine/data/formats/hdf5_check.h"

#include <utility>

#include "engine/base/hdf5_program.h"
#include "engine/data/formats/hdf5_file.h"

namespace spire::inline data {
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

}  // namespace

Hdf5CheckResult check_hdf5_file(const fs::path& path, const Hdf5Config& config) {
  return check_file(
      path, {config.train.input, config.train.target, config.test.input, config.test.target});
}

Hdf5CheckResult check_hdf5_samples(const fs::path& path, const ArrayNames& names) {
  return check_file(path, {names.input, names.target});
}

}  // namespace spire::inline data
