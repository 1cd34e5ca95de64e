// trainer init: prints a config for the data in a file or folder.
#include <CLI/CLI.hpp>

#include <spire/load_config.h>
#include <spire/plan.h>

#include "models/model.h"
#include "tools/commands.h"
#include "tools/common_options.h"
#include "tools/config_source.h"
#include "tools/init/draft_config.h"
#include "tools/output/streams.h"

namespace spire {

void add_init_options(CLI::App& app, ParsedWords& words) {
  InitArguments& i = words.arguments.init;
  std::vector<std::string> models = model_names();
  models.insert(models.begin(), "auto");
  std::erase(models, "layers");  // its layers are the user's to list
  app.add_option("--data", i.data, "the data: a file or a folder")->required()->type_name("PATH");
  app.add_option("--model", i.model, "a model of trainer models; auto: what suits the data")
      ->check(CLI::IsMember(models))
      ->type_name("NAME");
  app.add_option("--target", i.target, "of a table: the column to predict; default: the last one")
      ->type_name("COLUMN");
  app.add_option("words", words.arguments.overrides,
                 "how the data is read: a key of data, such as data.csv.decimal=comma; it is "
                 "written into the config")
      ->type_name("data.KEY=VALUE");
  app.footer(
      "Recognizes the format by the names of the files, opens the data, and prints a config with\n"
      "model, sizes, batch and learning rate that follow from it, and the reasons. What it prints\n"
      "has passed --check.\n\n"
      "  trainer init --data flowers.csv --target kind > run.yaml\n"
      "  trainer init --data photos --model vit > run.yaml\n");
}

int run_init(const Arguments& arguments) {
  const InitArguments& init = arguments.init;
  std::string text = draft_config(init.data, init.model, init.target, init.words);
  ResolvedConfig drafted = parse_config({{.name = "the config for this data", .text = text}}, {});
  print_warnings(drafted);  // such as of a word that this data does not use
  check(drafted.config);
  result_text(text);
  return 0;
}

}  // namespace spire
