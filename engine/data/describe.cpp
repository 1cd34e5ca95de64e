#include "engine/data/describe.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include <spire/error.h>

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void count_classes(const Dataset& data, DescribedHalf& half) {
  constexpr int64_t at_once = 1 << 16;
  if (data.spec().find("labels") == nullptr) return;
  half.class_counts.resize(static_cast<size_t>(data.spec().classes));
  std::vector<int32_t> labels;
  for (int64_t first = 0; first < data.count(); first += at_once) {
    labels.resize(static_cast<size_t>(std::min(at_once, data.count() - first)));
    data.read_labels(first, labels);
    for (int32_t label : labels) {
      if (label < 0 || label >= data.spec().classes) {
        ++half.strange_labels;
      } else {
        ++half.class_counts[static_cast<size_t>(label)];
      }
    }
  }
}

DescribedHalf describe(const Dataset& data) {
  DescribedHalf half;
  half.samples = data.count();
  count_classes(data, half);
  for (const fs::path& file : data.files()) {
    std::error_code error;
    uintmax_t bytes = fs::file_size(file, error);
    if (error) fail(Category::data, "{}: cannot be read: {}", file.string(), error.message());
    ++half.files;
    half.bytes += static_cast<int64_t>(bytes);
  }
  half.skipped = data.skipped();
  half.first_problem = data.first_problem();
  half.layout = data.layout();
  return half;
}

Json json_of(const DescribedHalf& half) {
  return {{"samples", half.samples},
          {"class_counts", half.class_counts},
          {"labels_beyond_classes", half.strange_labels},
          {"files", half.files},
          {"bytes", half.bytes},
          {"skipped", half.skipped},
          {"first_problem", half.first_problem},
          {"layout", half.layout}};
}

}  // namespace

DatasetDescription describe_dataset(const DataConfig& config) {
  DataConfig data = config;
  data.on_error = DataConfig::OnError::skip;
  DatasetPair pair = open_dataset(data, {.stored = true});
  return {config.name, pair.train->spec(), describe(*pair.train), describe(*pair.test),
          pair.train->files() == pair.test->files()};
}

std::string to_json(const DatasetDescription& description) {
  Json object = Json::parse(to_text(description.spec));
  object["name"] = description.name;
  object["train"] = json_of(description.train);
  object["test"] = json_of(description.test);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace spire::inline data
