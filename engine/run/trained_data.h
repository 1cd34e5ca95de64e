// The data of a config, read as the run of a trained model read it.
#pragma once
#include <string>

#include <spire/dataset.h>
#include <spire/run_config.h>

namespace spire {

// spec: of the trained model, which messages call `model`. classes: whether labels must be those of
// the spec. all_test: as in ReadOptions. Throws what the dataset throws, Error(data) for data that
// does not fit.
DatasetPair open_trained_data(const RunConfig& config, const SampleSpec& spec,
                              const std::string& model, bool classes, bool all_test = false);

}  // namespace spire
