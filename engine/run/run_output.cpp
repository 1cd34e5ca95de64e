#include "engine/run/run_output.h"

#include "engine/base/write_file.h"
#include "engine/config/text.h"

namespace spire::inline run {

void RunOutput::begin() {
  if (setup_.resumed_here) {
    directory_->go_on();
  } else {  // with auto: a run that was killed before its first checkpoint starts over
    directory_->begin(options_.overwrite || options_.resume == "auto");
  }
}

void RunOutput::write_config() {
  if (!directory_->locked()) {
    observer_.on_warning(fmt::format(
        "{}: its file system does not support locks; make sure that no other run writes there",
        directory_->path().string()));
  }
  write_config_file(Category::config);
}

void RunOutput::write_config_file(Category category) const {
  write_file_atomically(
      directory_->path() / "config.yaml",
      options_.config_yaml.empty() ? to_yaml(setup_.config) : options_.config_yaml, category);
}

bool RunOutput::restore(int64_t step) {
  if (!directory_) return false;
  std::string lost;
  try {
    lost = directory_->mend();
    writable_ = true;
  } catch (const Error&) {
    writable_ = false;
    throw;
  }
  if (lost.empty()) return false;
  write_config_file(Category::checkpoint);
  observer_.on_warning(fmt::format("output: {}; it is made anew and training goes on", lost));
  if (lost_.empty()) lost_ = fmt::format("output: {}, up to step {}", lost, step);
  return true;
}

}  // namespace spire::inline run
