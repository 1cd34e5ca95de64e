// While this object lives, this process and those it starts see the GPUs of a script in place of
// the host's: SPIRE_NVML names the scripted library, and its file is the script. One at a time;
// needs target_link_libraries(<test> PRIVATE scripted_machine).
#pragma once
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>
#include <stdlib.h>

namespace spire {

class ScriptedMachine {
 public:
  // script: README.md has its keys. library: SCRIPTED_NVML or SCRIPTED_OLD_NVML.
  explicit ScriptedMachine(nlohmann::json machine, const char* library = SCRIPTED_NVML)
      : script(std::move(machine)) {
    std::string name = (std::filesystem::temp_directory_path() / "machine-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    write();
    setenv("SPIRE_SCRIPTED_NVML", (folder_ / "machine.json").c_str(), 1);
    setenv("SPIRE_NVML", library, 1);
  }
  ~ScriptedMachine() {
    unsetenv("SPIRE_NVML");
    unsetenv("SPIRE_SCRIPTED_NVML");
    std::filesystem::remove_all(folder_);
  }
  ScriptedMachine(const ScriptedMachine&) = delete;
  ScriptedMachine& operator=(const ScriptedMachine&) = delete;

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
  std::filesystem::path folder_;
};

}  // namespace spire
