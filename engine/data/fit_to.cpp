#include "engine/data/fit_to.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <spire/error.h>

#include "engine/data/listed.h"
#include "engine/data/text/vocabulary.h"

namespace spire::inline data {
namespace {

using Names = std::vector<std::string>;
using Places = std::vector<size_t>;

// For each of `names` its place in `order`. Nothing where these are not the same names, or where
// one is there twice, so that nobody knows which is which.
std::optional<Places> places_in(const Names& names, const Names& order) {
  std::map<std::string, size_t> place_of;
  for (const std::string& name : order) place_of.emplace(name, place_of.size());
  if (place_of.size() != order.size() || names.size() != order.size()) return {};
  Places places;
  std::vector<bool> taken(order.size());
  for (const std::string& name : names) {
    auto found = place_of.find(name);
    if (found == place_of.end() || taken[found->second]) return {};
    taken[found->second] = true;
    places.push_back(found->second);
  }
  return places;
}

Names without(const Names& names, const Names& others) {
  Names rest;
  for (const std::string& name : names)
    if (std::ranges::find(others, name) == others.end()) rest.push_back(name);
  return rest;
}

[[noreturn]] void refuse_names(const char* what, const Names& found, const Names& trained,
                               const std::string& model) {
  fail(Category::data,
       "the data has other {} than {} was trained on: the data has {} ({}), the checkpoint {} "
       "({}); only in the data: {}; only in the checkpoint: {}; give them the names that the "
       "checkpoint has, or train a new model",
       what, model, listed(found), found.size(), listed(trained), trained.size(),
       listed(without(found, trained)), listed(without(trained, found)));
}

// The place in `trained` of each name of the data; nothing where the order is the same, or names
// are not known on both sides.
std::optional<Places> compare_names(const char* what, const Names& found, const Names& trained,
                                    const std::string& model, Names& notes) {
  if (found == trained) return {};
  if (found.empty() || trained.empty()) {
    notes.push_back(
        fmt::format("the {} cannot be compared with those that {} was trained on: {} has no names "
                    "for them; make sure that they are the same, in the same order",
                    what, model, found.empty() ? "the data" : "the checkpoint"));
    return {};
  }
  std::optional<Places> places = places_in(found, trained);
  if (!places) refuse_names(what, found, trained, model);
  notes.push_back(fmt::format(
      "the {} are in another order than {} has them; they are matched by name", what, model));
  return places;
}

Names column_names(const SampleSpec& spec) {
  Names names;
  for (const Column& column : spec.columns) names.push_back(column.name);
  return names;
}

// The part of a row's shape that a model's weights are made for. Of images channels alone: some
// models read any size, the others say that they do not.
std::vector<int64_t> fixed_shape(const Column& column) {
  auto dims = column.shape.dims();
  if (column.name == "images") return {dims.back()};
  if (column.name == "tokens" || column.name == "targets") return {};
  return {dims.begin(), dims.end()};
}

void compare_columns(const SampleSpec& found, const SampleSpec& trained, const std::string& model) {
  if (column_names(found) != column_names(trained))
    fail(Category::data, "the data has {}, but {} was trained on {}; check data.name and data.path",
         listed(column_names(found)), model, listed(column_names(trained)));
  for (size_t c = 0; c < found.columns.size(); ++c) {
    if (fixed_shape(found.columns[c]) == fixed_shape(trained.columns[c])) continue;
    if (c == 0 && !found.feature_names.empty() && !trained.feature_names.empty())
      refuse_names("columns", found.feature_names, trained.feature_names, model);
    fail(Category::data, "the data has {} {}, but {} was trained on {} {}; use data of that kind",
         found.columns[c].name, to_string(found.columns[c].shape), model, trained.columns[c].name,
         to_string(trained.columns[c].shape));
  }
}

void compare_count(const char* what, int64_t found, int64_t trained, const std::string& model) {
  if (found != trained)
    fail(Category::data, "the data has {} {}, but {} was trained on {}; use data of that kind",
         found, what, model, trained);
}

// A token's text, as a name of it; bytes that are no UTF-8 count as they are.
Names tokens_of(const Vocabulary& vocabulary) {
  Names tokens;
  for (int32_t id = 0; id < vocabulary.size(); ++id) tokens.push_back(vocabulary.decode({&id, 1}));
  return tokens;
}

// Null where its files are gone, which a note says.
std::unique_ptr<Vocabulary> opened(const std::string& text, Names& notes) {
  try {
    return make_vocabulary(text);
  } catch (const Error& error) {
    notes.push_back(
        fmt::format("the vocabulary of the checkpoint cannot be compared: {}", error.what()));
    return nullptr;
  }
}

// Ids are numbers in files: unlike labels they are not renumbered.
void compare_vocabularies(const SampleSpec& found, const SampleSpec& trained,
                          const std::string& model, Names& notes) {
  if (found.vocabulary != trained.vocabulary &&
      (found.vocabulary.empty() || trained.vocabulary.empty())) {
    compare_names("tokens", found.vocabulary.empty() ? Names() : Names{"known"},
                  trained.vocabulary.empty() ? Names() : Names{"known"}, model, notes);
  } else if (found.vocabulary != trained.vocabulary) {
    auto before = opened(trained.vocabulary, notes);
    Names now = tokens_of(*make_vocabulary(found.vocabulary));
    Names then = before ? tokens_of(*before) : now;
    if (now != then) refuse_names("tokens", now, then, model);
  }
  compare_count("tokens in its vocabulary", found.classes, trained.classes, model);
}

// Whether numbers that a model reads are scaled otherwise than when it was trained.
bool scaled_otherwise(const Normalization& found, const Normalization& trained) {
  constexpr double tolerance = 1e-4;  // of a deviation
  if (found.mean.size() != trained.mean.size()) return true;
  for (size_t i = 0; i < found.mean.size(); ++i)
    if (std::abs(found.mean[i] - trained.mean[i]) > tolerance * trained.stddev[i] ||
        std::abs(found.stddev[i] - trained.stddev[i]) > tolerance * trained.stddev[i])
      return true;
  return false;
}

// Another dataset's samples, with labels renumbered and features in another order.
class RenumberedDataset : public Dataset {
 public:
  // labels[l]: what label l becomes; empty: itself. features[f]: where feature f goes; empty:
  // nowhere else. spec: of the result.
  RenumberedDataset(std::unique_ptr<Dataset> data, SampleSpec spec, Places labels, Places features)
      : data_(std::move(data)), spec_(std::move(spec)), labels_(std::move(labels)) {
    // Exchanges that bring each feature to its place: rows are put in order where they lie.
    for (size_t f = 0; f < features.size(); ++f)
      while (features[f] != f) {
        exchanges_.emplace_back(f, features[f]);
        std::swap(features[f], features[features[f]]);
      }
    for (size_t c = 0; c < spec_.columns.size(); ++c)
      if (spec_.columns[c].name == "labels") label_column_ = c;
  }

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return data_->count(); }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    data_->read(samples, epoch, columns);
    if (!labels_.empty())
      renumber({reinterpret_cast<int32_t*>(columns[label_column_]), samples.size()});
    for (size_t row = 0; row < samples.size(); ++row)
      put_in_order(columns[0] + row * spec_.columns[0].row_bytes());
  }
  int64_t skipped() const override { return data_->skipped(); }
  std::vector<std::string> problems() const override { return data_->problems(); }
  int64_t chunk() const override { return data_->chunk(); }
  void read_labels(int64_t first, std::span<int32_t> out) const override {
    data_->read_labels(first, out);
    if (!labels_.empty()) renumber(out);
  }
  void verify_files() const override { data_->verify_files(); }
  std::vector<std::string> layout() const override { return data_->layout(); }
  std::vector<std::filesystem::path> files() const override { return data_->files(); }

 private:
  void renumber(std::span<int32_t> labels) const {
    for (int32_t& label : labels)
      if (label >= 0 && std::cmp_less(label, labels_.size()))  // others are told where they count
        label = static_cast<int32_t>(labels_[static_cast<size_t>(label)]);
  }
  void put_in_order(std::byte* row) const {
    size_t bytes = size_of(spec_.columns[0].dtype);
    std::array<std::byte, 8> held;
    for (auto [a, b] : exchanges_) {
      std::memcpy(held.data(), row + a * bytes, bytes);
      std::memcpy(row + a * bytes, row + b * bytes, bytes);
      std::memcpy(row + b * bytes, held.data(), bytes);
    }
  }

  std::unique_ptr<Dataset> data_;
  SampleSpec spec_;
  Places labels_;
  std::vector<std::pair<size_t, size_t>> exchanges_;
  size_t label_column_ = 0;
};

template <typename T>
std::vector<T> moved(const std::vector<T>& from, const Places& places) {
  std::vector<T> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[places[i]] = from[i];
  return to;
}

void renumber(std::unique_ptr<Dataset>& data, const SampleSpec& trained, const Places& labels,
              const Places& features) {
  SampleSpec spec = data->spec();
  if (!labels.empty()) spec.class_names = trained.class_names;
  if (!features.empty()) {
    spec.feature_names = trained.feature_names;
    if (!spec.normalization.mean.empty())
      spec.normalization = {moved(spec.normalization.mean, features),
                            moved(spec.normalization.stddev, features)};
  }
  data = std::make_unique<RenumberedDataset>(std::move(data), std::move(spec), labels, features);
}

}  // namespace

DatasetPair fit_to(DatasetPair data, const SampleSpec& trained, const std::string& model,
                   bool classes) {
  // As a checkpoint keeps it: names that are no UTF-8 are changed there.
  SampleSpec found = sample_spec_from_text(to_text(data.train->spec()));
  compare_columns(found, trained, model);
  if (found.find("tokens") != nullptr) compare_vocabularies(found, trained, model, data.notes);
  std::optional<Places> features =
      compare_names("columns", found.feature_names, trained.feature_names, model, data.notes);
  std::optional<Places> labels;
  if (classes && found.find("labels") != nullptr) {
    labels = compare_names("classes", found.class_names, trained.class_names, model, data.notes);
    compare_count("classes", found.classes, trained.classes, model);
  }
  if (labels || features)
    for (auto* half : {&data.train, &data.test})
      renumber(*half, trained, labels.value_or(Places()), features.value_or(Places()));
  if (scaled_otherwise(data.train->spec().normalization, trained.normalization))
    data.notes.push_back(
        fmt::format("the data is normalized by other means or deviations than those that {} was "
                    "trained with; its samples may not mean the same to the model",
                    model));
  return data;
}

}  // namespace spire::inline data
