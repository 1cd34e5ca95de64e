#include "models/teacher.h"

#include <utility>

#include "engine/base/fail.h"
#include "engine/config/words.h"
#include "engine/graph/finetuning.h"

namespace spire {
namespace {

void expect_classes(const LossConfig& loss, Task task) {
  using Name = LossConfig::Name;
  if (task != Task::classify && task != Task::predict_tokens)
    fail(Category::config,
         "distill.from: a teacher helps to classify samples or to predict tokens, which this model "
         "does not do; use none");
  if (loss.name != Name::automatic && loss.name != Name::cross_entropy && loss.name != Name::focal)
    fail(Category::config, "distill.from: needs loss.name: cross_entropy or focal, got {}",
         word_of(loss.name));
}

// What the graph draws at first is read from the teacher's file.
void read_from(const Teacher& teacher, Graph& graph) {
  for (Role role : {Role::parameter, Role::state})
    for (Value value : graph.values_of(role)) {
      const Tensor& tensor = graph.tensor(value);
      graph.set_initializer(value, teacher.values(tensor.name, tensor.spec.shape));
    }
}

}  // namespace

Value teach(Graph& graph, const Teacher& teacher, const LossConfig& loss, Task task,
            const ModelInput& input) {
  expect_classes(loss, task);
  ModelInput same = input;
  same.teacher = nullptr;
  Graph own = build_model(teacher.model, {}, same, false);
  read_from(teacher, own);
  return graft_teacher(graph, std::move(own), "output");
}

}  // namespace spire
