// Records the ops of one graph in another.
#pragma once
#include <string>

#include "engine/graph/graph.h"

namespace spire {

inline constexpr const char* teacher_prefix = "teacher.";  // of names of a teacher's tensors

// Appends the ops of a teacher's evaluation graph on which its output `output` depends, and returns
// that output. Inputs are those of `graph` with the same names; parameters and states become a
// teacher's (Graph::teacher), with `teacher_prefix` before their names. Throws Error(config) for an
// input that `graph` lacks or has in another shape.
Value graft_teacher(Graph& graph, Graph teacher, const std::string& output);

}  // namespace spire
