"""Prints the figures of scikit-image and scikit-learn that scores_test.cpp compares with."""

import numpy
from skimage.metrics import structural_similarity
from sklearn.metrics import accuracy_score, f1_score, jaccard_score


def image(height, width, channels, step):
    at = numpy.arange(height * width * channels)
    values = (at * 37 + step * (at * at % 29)) % 256 / 256
    return values.reshape(height, width, channels)


for height, width, channels in [(11, 11, 1), (16, 13, 1), (12, 20, 3)]:
    for step in [1, 3]:
        similarity = structural_similarity(
            image(height, width, channels, 0), image(height, width, channels, step), data_range=1, channel_axis=2,
            gaussian_weights=True, sigma=1.5, use_sample_covariance=False)
        print(height, width, channels, step, repr(float(similarity)))

actual = numpy.array([i * i % 5 for i in range(200)])  # 0, 1 and 4
found = numpy.array([(i * i + (i % 7 == 0)) % 5 for i in range(200)])
labelled = numpy.arange(200) % 11 != 3
actual, found = actual[labelled], found[labelled]
print("iou", repr(float(jaccard_score(actual, found, average="macro"))))
print("dice", repr(float(f1_score(actual, found, average="macro"))))
print("accuracy", repr(float(accuracy_score(actual, found))))
