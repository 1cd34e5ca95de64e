#include "engine/data/convert/convert.h"

#include <spire/error.h>

namespace spire::inline data {

ConvertResult convert_dataset(const RunConfig& config, const ConvertOptions& options) {
  bool text = config.data.name == "tokens" && !config.data.tokens.text.empty();
  std::string format = options.format == "auto" ? (text ? "tokens" : "hdf5") : options.format;
  if (format == "hdf5") return convert_to_hdf5(config, options);
  if (format != "tokens")
    fail(Category::config, "--format {}: must be hdf5 or tokens", options.format);
  if (!text)
    fail(Category::config,
         "--format tokens: token shards are made from text; add data.name=tokens and "
         "data.tokens.text=FILE");
  return convert_to_tokens(config, options);
}

void stop_if_asked(const ConvertOptions& options, const WorkProgress& progress) {
  if (options.stop != nullptr && options.stop->load())
    fail(Category::interrupted,
         "stopped by a signal at {} of {} {}; repeat the same command to continue", progress.done,
         progress.total, progress.unit);
}

}  // namespace spire::inline data
