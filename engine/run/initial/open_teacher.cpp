#include "engine/run/initial/open_teacher.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <spire/load_config.h>

#include "engine/base/fail.h"
#include "engine/base/hash.h"
#include "engine/base/text.h"
#include "engine/observe/formatting.h"
#include "engine/run/initial/initial_weights.h"
#include "engine/run/resume.h"
#include "engine/weights/files/weight_file.h"

namespace spire {
namespace {

RunConfig config_of_teacher(const WeightFile& file) {
  if (!file.state())
    fail(Category::checkpoint,
         "distill.from: {} is no checkpoint of Spire, which says what model it is; train from "
         "these weights with init.from first, and name that run",
         file.path().string());
  try {
    return parse_config({{"its config", file.state()->config_yaml}}, {}).config;
  } catch (const Error& error) {
    fail(Category::checkpoint,
         "distill.from: {}: {}; the checkpoint is of a version of Spire with other keys, or its "
         "model is of a program",
         file.path().string(), error.what());
  }
}

bool differs(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return !a.empty() && !b.empty() && a != b;
}

// Both must mean the same by their inputs and outputs.
void compare_data(const SampleSpec& student, const SampleSpec& teacher, const std::string& from,
                  Observer& observer) {
  auto refuse = [&](const std::string& what) {
    fail(Category::data,
         "distill.from: {} was trained on {}; take a teacher that was trained on data of this kind",
         from, what);
  };
  const std::string &theirs = teacher.columns.front().name, &ours = student.columns.front().name;
  if (theirs != ours) refuse(fmt::format("{}, but the data has {}", theirs, ours));
  if (teacher.classes != student.classes)
    refuse(
        fmt::format("{}, but the data has {}", counted(teacher.classes, "class"), student.classes));
  if (differs(teacher.class_names, student.class_names))
    refuse(fmt::format("the classes {}, but the data has {}", quoted_list(teacher.class_names, 5),
                       quoted_list(student.class_names, 5)));
  if (differs(teacher.feature_names, student.feature_names) || teacher.table != student.table)
    refuse("other columns, or words in them, than the data has");
  if (teacher.vocabulary != student.vocabulary && !teacher.vocabulary.empty() &&
      !student.vocabulary.empty())
    refuse("tokens of another vocabulary than the data has");
  if (other_normalization(teacher.normalization, student.normalization))
    observer.on_warning(fmt::format(
        "distill.from: {} was trained on data that was normalized by other means or deviations "
        "(data.mean, data.stddev); its outputs may not mean what they did",
        from));
}

// Of names and values, by name. Reads a piece at a time: the host never holds a whole teacher.
std::string hash_of(const WeightFile& file) {
  constexpr int64_t piece = int64_t{1} << 20;
  std::vector<size_t> order(file.tensors().size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](size_t i) { return file.tensors()[i].name; });
  std::vector<float> values;
  Hash64 hash;
  for (size_t i : order) {
    const TensorEntry& entry = file.tensors()[i];
    hash.add(entry.name.data(), entry.name.size());
    int64_t count = entry.shape.elements();
    for (int64_t begin = 0; begin < count; begin += piece) {
      values.resize(static_cast<size_t>(std::min(piece, count - begin)));
      file.read(i, begin, values);
      hash.add(values.data(), values.size() * sizeof(float));
    }
  }
  return hex(hash.value());
}

void compare_hashes(const std::string& hash, const RunConfig& config, const WeightFile& file,
                    const RankGroup& ranks, const LoadedCheckpoint* resumed) {
  const std::string& asked = config.distill.hash;
  if (asked != "auto" && asked != hash)
    fail(Category::checkpoint,
         "distill.hash: {}, but the weights of {} have {}; name the teacher that is meant with "
         "distill.from, or set distill.hash: auto in a new run",
         asked, file.path().string(), hash);
  std::optional<RunConfig> recorded;
  if (resumed) recorded = recorded_config(resumed->state);
  std::string before = recorded ? recorded->distill.hash : "auto";
  if (before != "auto" && before != hash)
    fail(
        Category::checkpoint,
        "distill.from: the weights of {} have the hash {}, but the run of {} learns from a teacher "
        "with {}; name that one, or start a new run with init.from",
        file.path().string(), hash, resumed->path.string(), before);
  if (!ranks.group()) return;
  for (const std::string& other : ranks.all_gather(hash))
    if (other != hash)
      throw SymmetricError(
          Category::checkpoint,
          "distill.from: the processes found teachers with different weights; give all of them the "
          "same file");
}

std::function<Initializer(const std::string&, const Shape&)> values_of(
    std::shared_ptr<const WeightFile> file) {
  return [file = std::move(file)](const std::string& name, const Shape& shape) -> Initializer {
    auto tensor = file->find(name);
    if (!tensor || file->tensors()[*tensor].shape != shape)
      fail(
          Category::config,
          "distill.from: the teacher's model needs '{}' {} for this data, but {} has it {}; take a "
          "teacher that was trained on inputs of this size",
          name, to_string(shape), file->path().string(),
          tensor ? to_string(file->tensors()[*tensor].shape) : "not");
    return [file, at = *tensor](const RandomStream&, int64_t first, std::span<float> values) {
      file->read(at, first, values);
    };
  };
}

std::string text_of(const RunConfig& config, const std::string& model, const WeightFile& file) {
  int64_t parameters = 0;
  for (const TensorEntry& entry : file.tensors()) parameters += entry.shape.elements();
  return fmt::format("{} of {}, {} numbers, hash {}\nweight {:.6g} at temperature {:.6g}", model,
                     file.path().string(), count_text(parameters), config.distill.hash,
                     config.distill.weight, config.distill.temperature);
}

}  // namespace

OpenTeacher open_teacher(RunConfig& config, const SampleSpec& student, const RankGroup& ranks,
                         const LoadedCheckpoint* resumed, Observer& observer) {
  if (config.distill.from == "none") {
    config.distill.hash = "auto";
    return {};
  }
  auto warn = [&](const std::filesystem::path&, const std::string& text) {
    observer.on_warning(text);
  };
  auto file = std::make_shared<WeightFile>(config.distill.from, warn);
  RunConfig theirs = config_of_teacher(*file);
  SampleSpec spec = sample_spec_from_text(file->state()->data_spec);
  compare_data(student, spec, file->path().string(), observer);
  theirs.model.name = model_for(theirs.model, spec.columns);
  std::string hash = hash_of(*file);
  compare_hashes(hash, config, *file, ranks, resumed);
  config.distill.hash = hash;
  auto teacher = std::make_shared<Teacher>();
  teacher->model = theirs.model;
  teacher->config = config.distill;
  teacher->values = values_of(file);
  return {std::move(teacher), text_of(config, theirs.model.name, *file)};
}

}  // namespace spire
