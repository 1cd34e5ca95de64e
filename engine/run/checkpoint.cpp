#include <utility>

#include <spire/checkpoint.h>

#include "engine/checkpoint/checkpoint_locator.h"
#include "engine/data/sample.h"

namespace spire {

Checkpoint::Checkpoint(LoadedCheckpoint loaded, std::filesystem::path run)
    : loaded_(std::make_shared<LoadedCheckpoint>(std::move(loaded))), run_(std::move(run)) {}

const std::filesystem::path& Checkpoint::path() const {
  return loaded_->path;
}

int64_t Checkpoint::step() const {
  return loaded_->state.step;
}

const std::string& Checkpoint::config_yaml() const {
  return loaded_->state.config_yaml;
}

SampleSpec Checkpoint::data() const {
  return sample_spec_from_text(loaded_->state.data_spec);
}

Checkpoint find_checkpoint(const std::string& name, const std::filesystem::path& output,
                           Prefer prefer, const OnDamagedFile& on_damaged) {
  NamedCheckpoint named = load_named(name, output, prefer, on_damaged);
  return {std::move(*named.checkpoint), named.run};
}

std::optional<Checkpoint> find_checkpoint_if_any(const std::string& name,
                                                 const std::filesystem::path& output, Prefer prefer,
                                                 const OnDamagedFile& on_damaged) {
  NamedCheckpoint named = load_named_if_any(name, output, prefer, on_damaged);
  if (!named.checkpoint) return {};
  return Checkpoint(std::move(*named.checkpoint), named.run);
}

}  // namespace spire
