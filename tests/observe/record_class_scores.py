#!/usr/bin/env python3
"""Prints the figures of tests/observe/class_scores_test.cpp, by scikit-learn."""
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

CLASSES = 6  # the last is neither true nor found
SAMPLES = 97
true = [(7 * i * i + 3 * i) % 11 % 5 for i in range(SAMPLES)]
found = [t if i % 3 else (5 * i + t) % 4 for i, t in enumerate(true)]

print("counts", confusion_matrix(true, found, labels=range(CLASSES)).tolist())
precision, recall, f1, _ = precision_recall_fscore_support(true, found, zero_division=0)
for name, values in ("precision", precision), ("recall", recall), ("f1", f1):
    print(name, [float(value) for value in values])
print("macro", float(f1_score(true, found, average="macro")))
