// While this object lives, this process and those it starts see the GPUs of a script in place of
// the host's: SPIRE_NVML names the scripted library, and its file is the script. One at a time;
// needs target_link_libraries(<test> PRIVATE scripted_machine).
#pragma once
#include <nlohmann/json.hpp>

#include "tests/base/folder.h"
#include "tests/base/set_variable.h"

namespace spire {

class ScriptedMachine {
 public:
  // script: README.md has its keys. library: SCRIPTED_NVML or SCRIPTED_OLD_NVML.
  explicit ScriptedMachine(nlohmann::json machine, const char* library = SCRIPTED_NVML)
      : script(std::move(machine)), library_("SPIRE_NVML", library) {
    write();
  }

  // Eight GPUs of mixed kind: 0, 4, 6, 7 idle; 1 and 5 busy; 2 split by MIG; 3 lost.
  static nlohmann::json eight_gpus() {
    std::ifstream file(SCRIPTED_EIGHT_GPUS);
    return nlohmann::json::parse(file);
  }

  // A change to the script holds from the next call of NVML after write(), also for processes that
  // run already.
  nlohmann::json& gpu(size_t number) { return script["gpus"][number]; }
  void write() const {
    std::ofstream(folder_ / "new.json") << script;
    std::filesystem::rename(folder_ / "new.json", folder_ / "machine.json");
  }

  nlohmann::json script;

 private:
  Folder folder_;
  SetVariable file_{"SPIRE_SCRIPTED_NVML", folder_ / "machine.json"}, library_;
};

}  // namespace spire
