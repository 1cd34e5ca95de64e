// The names of metrics, which configs, reports and checkpoints use, and in which direction each is
// better.
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <spire/metric.h>

namespace spire {
namespace {

struct Description {
  std::string_view name, short_name;
  bool higher_is_better;
};

// In the order of the enum, which indexes it.
constexpr std::array descriptions = {
    Description{"accuracy", "acc", true},      Description{"perplexity", "ppl", false},
    Description{"psnr", "psnr", true},         Description{"rmse", "rmse", false},
    Description{"score", "score", true},       Description{"error", "error", false},
    Description{"loss", "loss", false},        Description{"top3", "top3", true},
    Description{"top5", "top5", true},         Description{"f1_macro", "f1", true},
    Description{"f1_micro", "f1", true},       Description{"auc", "auc", true},
    Description{"exact_match", "exact", true}, Description{"r2", "r2", true},
    Description{"mae", "mae", false},          Description{"bits_per_byte", "bpb", false},
    Description{"ssim", "ssim", true},         Description{"mean_iou", "iou", true},
    Description{"dice", "dice", true},         Description{"pixel_accuracy", "pix", true},
};

const Description& describe(Metric metric) {
  return descriptions[static_cast<size_t>(metric)];
}

}  // namespace

bool higher_is_better(Metric metric) {
  return describe(metric).higher_is_better;
}

std::optional<Metric> find_metric(std::string_view wanted) {
  for (size_t i = 0; i < descriptions.size(); ++i)
    if (descriptions[i].name == wanted) return static_cast<Metric>(i);
  return {};
}

std::string_view to_string(Metric metric) {
  return describe(metric).name;
}

std::string_view short_name(Metric metric) {
  return describe(metric).short_name;
}

}  // namespace spire
