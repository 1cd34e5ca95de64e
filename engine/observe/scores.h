// Formulas of the metrics of a model's outputs over all samples of an evaluation: of classes and
// labels, of numbers, of masks and of images. Sums are fp64 in the order of the samples and counts
// are integers, so equal outputs give equal bits however they were computed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace spire {

// Counts of one class: samples that are of the class (actual), samples that the model takes for it
// (predicted), and samples that are both (tp). A score is empty where it would be 0 / 0.
struct ClassScore {
  int64_t tp = 0, actual = 0, predicted = 0;

  std::optional<double> precision() const;  // tp / predicted
  std::optional<double> recall() const;     // tp / actual
  std::optional<double> f1() const;         // 2 tp / (actual + predicted)
};

// counts: (classes, classes), row: the true class, column: the class that the model finds. Throws
// Error(unexpected) for another number of counts.
std::vector<ClassScore> class_scores(std::span<const int64_t> counts, size_t classes);

// Mean of F1 over the classes that occur: some sample has the class, or is taken for it. This is
// scikit-learn's f1_score(average="macro"). Empty without samples. (Micro F1 is the accuracy.)
std::optional<double> f1_macro(std::span<const ClassScore> scores);

// Returns the place of `label` among the outputs: how many are larger, or as large and before it. A
// label out of range, or whose output is NaN, has the last place.
int64_t rank_of(std::span<const float> outputs, int64_t label);

// Area under the ROC curve: the share of pairs of a positive and a negative sample in which the
// positive one has the larger score; equal scores count half (Mann and Whitney, 1947). Exact: from
// the ranks of all scores. NaN without positive or negative samples, or if a score is NaN.
double auc(std::span<const double> scores, const std::vector<bool>& positive);

// F1 of all decisions together: 2 tp / (actual + predicted), each summed over the classes; 0 where
// that is 0 / 0.
double f1_micro(std::span<const ClassScore> scores);
// Mean of F1 over all classes, 0 for one without samples and decisions: for labels that may be none
// or several (scikit-learn's f1_score of indicators).
double f1_macro_of_labels(std::span<const ClassScore> scores);

// targets, outputs: (samples, values). Mean over the values of 1 - sum (t - o)^2 / sum (t -
// mean)^2; a value whose targets are all equal counts 1 if all outputs equal them, else 0.
double r2(std::span<const double> targets, std::span<const double> outputs, size_t values);
double mean_absolute_error(std::span<const double> targets, std::span<const double> outputs);

// Adds the pixels of one sample of segmentation to `counts`, one entry per class; f1_macro(counts)
// is then the mean Dice score. mask: (pixels), each one's class; -1: none, the pixel is ignored.
// logits: (pixels, classes); the model finds the first class with the largest logit.
void count_pixels(std::span<const int32_t> mask, std::span<const float> logits,
                  std::span<ClassScore> counts);

// Mean of intersection over union (Jaccard), tp / (actual + predicted - tp), over the classes that
// occur, which some pixel has or the model finds. Empty without such a class.
std::optional<double> mean_iou(std::span<const ClassScore> counts);

// Share of the pixels with a class whose class is found. Empty if there are none.
std::optional<double> pixel_accuracy(std::span<const ClassScore> counts);

inline constexpr int64_t ssim_window = 11;  // pixels a side; smaller images have no SSIM

// Mean structural similarity of images a and b, (height, width, channels), whose pixels are from 0
// to 1: Wang, Bovik, Sheikh, Simoncelli, "Image Quality Assessment: From Error Visibility to
// Structural Similarity", 2004. For each window of 11 x 11 pixels within the image and each channel
//   (2 ma mb + C1) (2 cov + C2) / ((ma^2 + mb^2 + C1) (va + vb + C2)),  C1 = 0.01^2, C2 = 0.03^2
// with means m, variances v and the covariance weighted by a Gaussian of deviation 1.5 whose sum is
// 1; then the mean over windows and channels. In fp64; scikit-image's structural_similarity with
// gaussian_weights gives the same. NaN for images smaller than a window.
double ssim(std::span<const float> a, std::span<const float> b, int64_t height, int64_t width,
            int64_t channels);

}  // namespace spire
