#include "prompt.h"

#include <spire/base/error.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

namespace spire::tool {

namespace {

constexpr size_t most_bytes = 1 << 20;

std::string read_all(std::istream& stream, const std::string& name) {
  std::string text(most_bytes + 1, '\0');
  errno = 0;
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || errno != 0)
    fail(Category::data, "--prompt-file {}: cannot be read: {}", name, std::strerror(errno));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > most_bytes)
    fail(Category::data, "--prompt-file {}: is larger than {} bytes; give only the last part of it",
         name, most_bytes);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace

std::string read_prompt(const PredictArguments& arguments) {
  if (arguments.prompt) return *arguments.prompt;
  if (!arguments.prompt_file) return "\n";
  const std::string& name = *arguments.prompt_file;
  if (name == "-") return read_all(std::cin, "-");
  errno = 0;
  std::ifstream file(name, std::ios::binary);
  if (!file)
    fail(Category::data, "--prompt-file {}: cannot be read: {}", name, std::strerror(errno));
  return read_all(file, name);
}

}  // namespace spire::tool
