// Tables in CSV files. data.path is a folder with train.csv and test.csv, or one file (also a
// folder with train.csv alone), from which rows are taken for the test by data.csv.test_share.
// Columns: features (F), of all columns but the target, each standardised by the training rows;
// and labels, or values (1).
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

DatasetPair open_csv(const DataConfig& config, const ReadOptions& options);

// Whether row `number` of a file, from 0, is one for the test: a function of both alone, so that
// every run tests on the same rows.
bool is_test_row(int64_t number, double test_share);

}  // namespace spire::inline data
