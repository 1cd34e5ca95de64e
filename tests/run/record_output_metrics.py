#!/usr/bin/env python3
"""Prints the figures of tests/run/output_records_test.cpp, by scikit-learn."""
import math

from sklearn.metrics import (accuracy_score, f1_score, mean_absolute_error, r2_score,
                             roc_auc_score, top_k_accuracy_score)

SAMPLES, CLASSES, VALUES = 83, 7, 3
# Outputs with ties, as small whole numbers; labels that follow them at times.
logits = [[(i * i + 5 * i * c + 3 * c * c) % 17 / 4 for c in range(CLASSES)] for i in range(SAMPLES)]
labels = [max(range(CLASSES), key=row.__getitem__) if i % 3 else (7 * i) % CLASSES
          for i, row in enumerate(logits)]


def softmax(row):
    largest = max(row)
    exponentials = [math.exp(x - largest) for x in row]
    return [x / sum(exponentials) for x in exponentials]


probabilities = [softmax(row) for row in logits]
# A tie between the k-th and the next output is no matter of metrics: the earlier class counts.
untied = [[x - 1e-9 * c for c, x in enumerate(row)] for row in logits]
found = [max(range(CLASSES), key=row.__getitem__) for row in untied]
for k in 3, 5:
    print("top", k, top_k_accuracy_score(labels, untied, k=k, labels=range(CLASSES)))
print("f1 macro", f1_score(labels, found, average="macro"))
print("f1 micro", f1_score(labels, found, average="micro"))
print("auc", roc_auc_score(labels, probabilities, multi_class="ovr", average="macro"))
print("binary auc", roc_auc_score([label % 2 for label in labels], [row[1] for row in logits]))

targets = [[(i * (v + 3)) % 11 / 2 for v in range(VALUES)] for i in range(SAMPLES)]
outputs = [[t + ((i + v) % 5 - 2) / 4 for v, t in enumerate(row)] for i, row in enumerate(targets)]
print("r2", r2_score(targets, outputs))
print("mae", mean_absolute_error(targets, outputs))

there = [[int((i * (v + 2)) % 5 < 2) for v in range(VALUES)] + [0] for i in range(SAMPLES)]
scores = [[((i * 7 + v * 3) % 13 - 6) / 2 + t for v, t in enumerate(row[:VALUES])] + [-1.0]
          for i, row in enumerate(there)]
hits = [[int(x > 0) for x in row] for row in scores]
print("labels f1 macro", f1_score(there, hits, average="macro", zero_division=0))
print("labels f1 micro", f1_score(there, hits, average="micro"))
print("labels auc", roc_auc_score([row[:VALUES] for row in there], [row[:VALUES] for row in scores]))
print("exact match", accuracy_score(there, hits))
