// A program that embeds the engine: a run with its own config, errors as exceptions.
#include <iostream>

#include <spire/spire.h>

int main() try {
  spire::RunConfig config;
  config.data.name = "idx";
  config.data.path = "no/such/folder";
  spire::Observer observer;
  spire::RunOptions options{.dry_run = 1};
  return spire::train(config, options, observer).exit_code;
} catch (const spire::Error& error) {
  std::cout << spire::to_string(error.category()) << ": " << error.what() << "\n";
  return error.category() == spire::Category::data ? 0 : 1;
}
