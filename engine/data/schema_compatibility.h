// Compatibility of data with a trained model's classes and features.
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

// Reorders labels and features of `data` by name as in `trained`, the model's training spec; spec()
// then has that order. Where one side has no names, a note says so. model: the checkpoint's path.
// classes: whether class names count. Throws Error(data) where columns, names, counts or
// vocabularies differ.
DatasetPair match_trained_schema(DatasetPair data, const SampleSpec& trained,
                                 const std::string& model, bool classes);

}  // namespace spire::inline data
