// The options of `trainer bench` and of the processes that it starts.
#pragma once
#include <CLI/CLI.hpp>

#include "tools/arguments.h"

namespace spire {

void add_bench_options(CLI::App& app, ParsedWords& words);
void add_bench_worker_options(CLI::App& app, ParsedWords& words);

}  // namespace spire
