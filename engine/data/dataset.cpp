#include "engine/data/dataset.h"

#include <algorithm>
#include <cstring>
#include <system_error>

#include <nlohmann/json.hpp>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/dataset_kinds.h"
#include "engine/data/dataset_table.h"
#include "engine/data/images/degrade.h"

namespace spire {
namespace {

// The table of engine/config has the same datasets in the same order.
static_assert(std::ranges::equal(dataset_table, dataset_kinds, {}, &DatasetEntry::name,
                                 &DatasetKind::name));

// Refuses data.path: auto where there is no place to search.
void require_path(const DatasetEntry& entry, const DataConfig& config) {
  bool named = entry.name == "tokens" && !config.tokens.text.empty();
  if (config.path == "auto" && !entry.paths.empty() && !named)
    fail(Category::config, "data.path: auto does not work for data.name: {}; set data.path to {}",
         entry.name, entry.paths);
}

// Opens a dataset of the table. Augmentation applies to image datasets only; conversion and
// inspection ignore it.
DatasetPair open_entry(const DatasetEntry& entry, const DataConfig& config,
                       const ReadOptions& options) {
  if ((options.as_stored || options.as_evaluation) && config.augment != AugmentConfig{}) {
    DataConfig plain = config;
    plain.augment = {};
    return open_entry(entry, plain, options);
  }
  if (!find_dataset_kind(entry.name)->images && config.augment != AugmentConfig{})
    fail(Category::config,
         "data.augment: needs stored images, which data.name: {} does not have; remove the keys of "
         "data.augment",
         entry.name);
  require_path(entry, config);
  DatasetPair data = entry.open(config, options);
  bool degrades = config.degrade.kind != DegradeConfig::Kind::none && !options.as_stored;
  return degrades ? degraded(std::move(data), config.degrade, options.seed, config.workers + 1)
                  : std::move(data);
}

}  // namespace

std::string Dataset::first_problem() const {
  std::vector<std::string> all = problems();
  return all.empty() ? "" : all.front();
}

// Reads whole samples into memory that is thrown away, but for the labels. Formats that can do
// better override this.
void Dataset::read_labels(int64_t first, std::span<int32_t> out) const {
  SampleBuffer samples;
  samples.read(*this, sequence(first, std::ssize(out)));
  for (size_t c = 0; c < samples.columns.size(); ++c)
    if (spec().columns[c].name == "labels")
      std::memcpy(out.data(), samples.columns[c].data(), out.size_bytes());
}

DatasetPair open_dataset(const DataConfig& config, const ReadOptions& options) {
  for (const DatasetEntry& entry : dataset_table)
    if (entry.name == config.name) {
      DatasetPair data = open_entry(entry, config, options);
      require_utf8(data.train->spec(), config.path + ": ");
      return data;
    }
  std::vector<std::string> names = dataset_names([](const DatasetKind&) { return true; });
  fail(Category::config, "data.name: unknown dataset '{}'; must be one of: {}{}", config.name,
       fmt::join(names, ", "), did_you_mean(nearest(config.name, names)));
}

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void count_classes(const Dataset& data, SplitDescription& split) {
  if (data.spec().find("labels") == nullptr) return;
  split.class_counts.resize(static_cast<size_t>(data.spec().classes));
  for_each_label(data, [&](int64_t, int32_t label) {
    if (label < 0 || label >= data.spec().classes) {
      ++split.labels_out_of_range;
    } else {
      ++split.class_counts[static_cast<size_t>(label)];
    }
  });
}

SplitDescription describe(const Dataset& data) {
  SplitDescription split;
  split.samples = data.count();
  count_classes(data, split);
  for (const fs::path& file : data.files()) {
    std::error_code error;
    uintmax_t bytes = fs::file_size(file, error);
    if (error) fail(Category::data, "{}: cannot be read: {}", file.string(), error.message());
    ++split.files;
    split.bytes += static_cast<int64_t>(bytes);
  }
  split.skipped = data.skipped();
  split.first_problem = data.first_problem();
  split.layout = data.layout();
  return split;
}

Json json_of(const SplitDescription& split) {
  return {{"samples", split.samples},
          {"class_counts", split.class_counts},
          {"labels_beyond_classes", split.labels_out_of_range},
          {"files", split.files},
          {"bytes", split.bytes},
          {"skipped", split.skipped},
          {"first_problem", split.first_problem},
          {"layout", split.layout}};
}

}  // namespace

DatasetDescription describe_dataset(const DataConfig& config) {
  DataConfig data = config;
  data.on_error = DataConfig::OnError::skip;
  // Windows of tokens are counted as a run has them: they move, and a stored copy may have one
  // more.
  DatasetPair pair = open_dataset(data, {.as_stored = config.name != "tokens"});
  return {config.name,
          pair.train->spec(),
          describe(*pair.train),
          describe(*pair.test),
          pair.val ? describe(*pair.val) : SplitDescription(),
          pair.train->files() == pair.test->files()};
}

std::string to_json(const DatasetDescription& description) {
  Json object = Json::parse(to_text(description.spec));
  object["name"] = description.name;
  object["train"] = json_of(description.train);
  object["test"] = json_of(description.test);
  if (description.val.samples > 0) object["val"] = json_of(description.val);
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace spire
