// The target column of a table: classes, which may be words, or numbers to be found.
#pragma once
#include <map>

#include "engine/data/formats/csv_table.h"

namespace spire::inline data {

// What the targets of the training file are.
struct CsvTargets {
  bool values = false;   // numbers to be found; else classes
  bool numbers = false;  // classes that are numbers: 1, 01 and 1.0 are one class
  // Sorted, as numbers or as words; the label of each.
  std::vector<std::string> class_names;
  std::map<std::string, int32_t> labels;
};

// data.csv.task auto: values when all targets are numbers and one is no whole number, or they are
// over 100 different ones; else classes. Throws Error(data) for targets that are all of one class,
// and where auto cannot tell: words among numbers, or about as many classes as rows. Appends to
// notes what is odd about classes.
CsvTargets csv_targets(const std::filesystem::path& path, const CsvRows& rows,
                       const CsvConfig& config, std::vector<std::string>& notes);

struct EncodedTargets {
  std::vector<size_t> kept;     // places in `rows`, ascending
  std::vector<int32_t> labels;  // classes: (kept)
  std::vector<float> values;    // values: (kept)
};

// A target that is no number, or none of the classes, makes a broken row; the others are kept.
EncodedTargets encode_targets(const std::filesystem::path& path, const CsvRows& rows,
                              const CsvTargets& targets, BrokenRows& broken);

}  // namespace spire::inline data
