// Drafts a config for given data: recognizes the format by the names of the files, and chooses
// model, sizes, batch and learning rate.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spire {

struct RecognizedData {
  std::string what;                                       // "a table", for people
  std::vector<std::pair<std::string, std::string>> keys;  // "data.name" -> "csv", as YAML
};

// Throws Error(config) if there is no such file or folder, or no format fits; the message lists
// what is recognized.
RecognizedData recognize_data(const std::filesystem::path& path);

// A config as text: keys in an order for readers, each with the reason for its value.
class ConfigDraft {
 public:
  void note(std::string text);  // adds a comment line at the head
  // path: "optimizer.lr"; keys of a section follow each other. value: YAML. why: may be empty.
  void set(std::string path, std::string value, std::string why = {});
  std::string text() const;

 private:
  struct DraftLine {
    std::string path, value, why;
  };
  std::vector<std::string> notes_;
  std::vector<DraftLine> lines_;
};

// Recognizes the format of the data by the names of its files, opens it, and returns a config as
// YAML with the reasons as comments. data: a file or a folder. model: a name of model_names(), or
// auto. target: column of a table, by name or number; empty: the last one. words: keys that say how
// the data is read, as on a command line (data.csv.decimal=comma); they go into the config. Throws
// Error(config) for data whose format is not recognized and for words with other keys, and what
// opening the dataset throws, for a table with a list of its columns.
std::string draft_config(const std::filesystem::path& data, const std::string& model = "auto",
                         const std::string& target = "",
                         const std::vector<std::string>& words = {});

}  // namespace spire
