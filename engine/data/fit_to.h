// Data for a model that was trained before: their classes and features must mean what those meant
// that the model was trained on.
#pragma once
#include "engine/data/dataset.h"

namespace spire::inline data {

// trained: of the data that the model learnt from. model: names it in messages: a checkpoint's
// path. classes: whether the model is judged by labels, so that their names count.
//
// Classes and features are compared by name. Where both sides have the same names in another order,
// labels are renumbered and features are put into the order of `trained`, which spec() then has,
// too. Where one side has no names there is nothing to compare, and a line of the result's notes
// says so. Throws Error(data), with what both sides have, where columns, names, counts or
// vocabularies differ.
DatasetPair fit_to(DatasetPair data, const SampleSpec& trained, const std::string& model,
                   bool classes);

}  // namespace spire::inline data
