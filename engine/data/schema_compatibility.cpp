// Matches data with the classes and features of a trained model (match_trained_schema).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/data/dataset.h"
#include "engine/data/text/encoding.h"
#include "engine/data/text/vocabulary.h"

namespace spire {
namespace {

using Names = std::vector<std::string>;
using Permutation = std::vector<size_t>;  // index in the data -> index in `trained`

enum class Lacking { refused, allowed };  // whether the data may lack names that `trained` has

// Returns the index in `order` of each name; nullopt where the names are not the same (or, if some
// may lack, not some of them), or where one occurs twice and is ambiguous.
std::optional<Permutation> exact_permutation(const Names& names, const Names& order,
                                             Lacking lacking) {
  std::map<std::string, size_t> index_of;
  for (const std::string& name : order) index_of.emplace(name, index_of.size());
  if (index_of.size() != order.size()) return {};
  if (lacking == Lacking::refused && names.size() != order.size()) return {};
  Permutation permutation;
  std::vector<bool> taken(order.size());
  for (const std::string& name : names) {
    auto found = index_of.find(name);
    if (found == index_of.end() || taken[found->second]) return {};
    taken[found->second] = true;
    permutation.push_back(found->second);
  }
  return permutation;
}

Names all_composed(Names names) {
  for (std::string& name : names) name = composed(name);
  return names;
}

// Also of names that differ in Unicode form alone.
std::optional<Permutation> permutation_to(const Names& names, const Names& order, Lacking lacking) {
  auto permutation = exact_permutation(names, order, lacking);
  return permutation ? permutation
                     : exact_permutation(all_composed(names), all_composed(order), lacking);
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
       what, model, quoted_list(found), found.size(), quoted_list(trained), trained.size(),
       quoted_list(without(found, trained)), quoted_list(without(trained, found)));
}

// Returns the index in `trained` of each name of the data; nullopt where the order is the same, or
// one side has no names (which a note says).
std::optional<Permutation> compare_names(const char* what, const Names& found, const Names& trained,
                                         const std::string& model, Names& notes,
                                         Lacking lacking = Lacking::refused) {
  if (found == trained || all_composed(found) == all_composed(trained)) return {};
  if (found.empty() || trained.empty()) {
    notes.push_back(
        fmt::format("the {} cannot be compared with those that {} was trained on: {} has no names "
                    "for them; make sure that they are the same, in the same order",
                    what, model, found.empty() ? "the data" : "the checkpoint"));
    return {};
  }
  std::optional<Permutation> permutation = permutation_to(found, trained, lacking);
  if (!permutation) refuse_names(what, found, trained, model);
  if (found.size() == trained.size())
    notes.push_back(fmt::format(
        "the {} are in another order than {} has them; they are matched by name", what, model));
  return permutation;
}

bool holds_classes(const Column& column) {
  return column.name == "labels" || column.name == "masks";
}

Names column_names(const SampleSpec& spec) {
  Names names;
  for (const Column& column : spec.columns) names.push_back(column.name);
  return names;
}

// Returns the part of a row's shape that weights depend on. Of images channels alone: some models
// read any size, the others check it themselves. Tokens: any length. Masks: any size.
std::vector<int64_t> fixed_shape(const Column& column) {
  auto dims = column.shape.dims();
  if (column.name == "images" || column.name == "target_images") return {dims.back()};
  if (column.name == "tokens" || column.name == "targets" || column.name == "positions") return {};
  if (column.name == "masks") return {};
  return {dims.begin(), dims.end()};
}

void compare_columns(const SampleSpec& found, const SampleSpec& trained, const std::string& model) {
  if (column_names(found) != column_names(trained))
    fail(Category::data, "the data has {}, but {} was trained on {}; check data.name and data.path",
         quoted_list(column_names(found)), model, quoted_list(column_names(trained)));
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

// Returns the text of each token, as its name; invalid UTF-8 is kept.
Names tokens_of(const Vocabulary& vocabulary) {
  Names tokens;
  for (int32_t id = 0; id < vocabulary.size(); ++id) tokens.push_back(vocabulary.decode({&id, 1}));
  return tokens;
}

// Opens a checkpoint's vocabulary; null where its files are gone, which a note says.
std::unique_ptr<Vocabulary> try_open_vocabulary(const std::string& text, Names& notes) {
  try {
    return make_vocabulary(text);
  } catch (const Error& error) {
    notes.push_back(
        fmt::format("the vocabulary of the checkpoint cannot be compared: {}", error.what()));
    return nullptr;
  }
}

// Token ids are numbers in files: unlike labels they are not renumbered, so they must agree.
void compare_vocabularies(const SampleSpec& found, const SampleSpec& trained,
                          const std::string& model, Names& notes) {
  if (found.vocabulary != trained.vocabulary &&
      (found.vocabulary.empty() || trained.vocabulary.empty())) {
    compare_names("tokens", found.vocabulary.empty() ? Names() : Names{"known"},
                  trained.vocabulary.empty() ? Names() : Names{"known"}, model, notes);
  } else if (found.vocabulary != trained.vocabulary) {
    auto before = try_open_vocabulary(trained.vocabulary, notes);
    Names now = tokens_of(*make_vocabulary(found.vocabulary));
    Names then = before ? tokens_of(*before) : now;
    if (now != then) refuse_names("tokens", now, then, model);
  }
  compare_count("tokens in its vocabulary", found.classes, trained.classes, model);
}

// Returns true if inputs are scaled differently than in training.
bool differs_in_scale(const Normalization& found, const Normalization& trained) {
  constexpr double tolerance = 1e-4;  // of a standard deviation
  if (found.mean.size() != trained.mean.size()) return true;
  for (size_t i = 0; i < found.mean.size(); ++i)
    if (std::abs(found.mean[i] - trained.mean[i]) > tolerance * trained.stddev[i] ||
        std::abs(found.stddev[i] - trained.stddev[i]) > tolerance * trained.stddev[i])
      return true;
  return false;
}

// Decorates a dataset: renumbers labels and reorders features, in place after each read.
class RemappedDataset : public DatasetOver {
 public:
  // labels[l]: the new label; empty: unchanged. features[f]: the new index of feature f; empty:
  // unchanged. spec: of the result.
  RemappedDataset(std::unique_ptr<Dataset> data, SampleSpec spec, Permutation labels,
                  Permutation features)
      : DatasetOver(std::move(data)), labels_(std::move(labels)) {
    spec_ = std::move(spec);
    // Decomposes the permutation into swaps (its cycles), so that rows are reordered in place.
    for (size_t f = 0; f < features.size(); ++f)
      while (features[f] != f) {
        swaps_.emplace_back(f, features[f]);
        std::swap(features[f], features[features[f]]);
      }
    for (size_t c = 0; c < spec_.columns.size(); ++c)
      if (holds_classes(spec_.columns[c])) label_column_ = c;
  }

  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override {
    data_->read(samples, epoch, columns);
    auto labels = static_cast<size_t>(spec_.columns[label_column_].shape.elements());
    if (!labels_.empty())
      renumber({reinterpret_cast<int32_t*>(columns[label_column_]), samples.size() * labels});
    for (size_t row = 0; row < samples.size(); ++row)
      reorder(columns[0] + row * spec_.columns[0].row_bytes());
  }
  void read_labels(int64_t first, std::span<int32_t> out) const override {
    data_->read_labels(first, out);
    if (!labels_.empty()) renumber(out);
  }

 private:
  void renumber(std::span<int32_t> labels) const {
    // A label out of range stays: whoever uses it reports it.
    for (int32_t& label : labels)
      if (label >= 0 && std::cmp_less(label, labels_.size()))
        label = static_cast<int32_t>(labels_[static_cast<size_t>(label)]);
  }
  void reorder(std::byte* row) const {
    size_t bytes = size_of(spec_.columns[0].dtype);
    std::array<std::byte, 8> temporary;
    for (auto [a, b] : swaps_) {
      std::memcpy(temporary.data(), row + a * bytes, bytes);
      std::memcpy(row + a * bytes, row + b * bytes, bytes);
      std::memcpy(row + b * bytes, temporary.data(), bytes);
    }
  }

  Permutation labels_;
  std::vector<std::pair<size_t, size_t>> swaps_;
  size_t label_column_ = 0;
};

template <typename T>
std::vector<T> permuted(const std::vector<T>& from, const Permutation& permutation) {
  std::vector<T> to(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[permutation[i]] = from[i];
  return to;
}

// Replaces the dataset by a RemappedDataset of it.
void remap(std::unique_ptr<Dataset>& data, const SampleSpec& trained, const Permutation& labels,
           const Permutation& features) {
  SampleSpec spec = data->spec();
  if (!labels.empty()) {
    spec.class_names = trained.class_names;
    spec.classes = trained.classes;
  }
  if (!features.empty()) {
    spec.feature_names = trained.feature_names;
    spec.table = trained.table;
    if (!spec.normalization.mean.empty())
      spec.normalization = {permuted(spec.normalization.mean, features),
                            permuted(spec.normalization.stddev, features)};
  }
  data = std::make_unique<RemappedDataset>(std::move(data), std::move(spec), labels, features);
}

DatasetPair match(DatasetPair data, const SampleSpec& trained, const std::string& model,
                  bool classes, Lacking lacking) {
  // That of the test split: its images may be of another size than those of training.
  const SampleSpec found = data.test->spec();
  compare_columns(found, trained, model);
  if (found.find("tokens") != nullptr) compare_vocabularies(found, trained, model, data.notes);
  std::optional<Permutation> features =
      compare_names("columns", found.feature_names, trained.feature_names, model, data.notes);
  std::optional<Permutation> labels;
  if (classes && std::ranges::any_of(found.columns, holds_classes)) {
    labels = compare_names("classes", found.class_names, trained.class_names, model, data.notes,
                           lacking);
    if (lacking == Lacking::refused || !labels)
      compare_count("classes", found.classes, trained.classes, model);
  }
  if (labels || features)
    for (auto* split : {&data.train, &data.test, &data.val})
      if (*split)
        remap(*split, trained, labels.value_or(Permutation()), features.value_or(Permutation()));
  if (differs_in_scale(data.train->spec().normalization, trained.normalization))
    data.notes.push_back(
        fmt::format("the data is normalized by other means or deviations than those that {} was "
                    "trained with; its samples may not mean the same to the model",
                    model));
  return data;
}

}  // namespace

DatasetPair match_trained_schema(DatasetPair data, const SampleSpec& trained,
                                 const std::string& model, bool classes) {
  return match(std::move(data), trained, model, classes, Lacking::refused);
}

DatasetPair match_validation_schema(DatasetPair data, const SampleSpec& trained) {
  return match(std::move(data), trained, "the training data", true, Lacking::allowed);
}

}  // namespace spire
