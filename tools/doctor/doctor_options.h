// The own options of `trainer doctor` and `trainer devices --watch`.
#pragma once
#include "tools/arguments.h"

namespace CLI {
class App;
}

namespace spire {

void add_doctor_options(CLI::App& app, DoctorArguments& arguments);
void add_watch_options(CLI::App& app, WatchArguments& arguments);

}  // namespace spire
