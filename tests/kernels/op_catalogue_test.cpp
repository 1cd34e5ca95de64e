// The determinism contract of docs/audit.md: its catalogue has every op of the kernel tables.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/kernel.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::Not;

struct CatalogueRow {
  std::vector<std::string> ops;
  std::string cpu, cuda, test;
};

std::string trimmed(const std::string& text) {
  size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == text.npos ? "" : text.substr(begin, end - begin + 1);
}

// The words between backquotes.
std::vector<std::string> words_of(const std::string& cell) {
  std::vector<std::string> words;
  std::istringstream parts(cell);
  bool quoted = false;
  for (std::string part; std::getline(parts, part, '`'); quoted = !quoted)
    if (quoted) words.push_back(part);
  return words;
}

// The rows behind the line "| op | CPU | CUDA | test |".
std::vector<CatalogueRow> catalogue() {
  std::ifstream file(fs::path(SPIRE_SOURCE) / "docs/audit.md");
  std::vector<CatalogueRow> rows;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| op | CPU |")) inside = true;
    if (!inside || !line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(1));
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, '|');) row.push_back(trimmed(cell));
    EXPECT_EQ(row.size(), 4u) << line;
    rows.push_back({words_of(row.at(0)), row.at(1), row.at(2), words_of(row.at(3)).at(0)});
  }
  return rows;
}

TEST(OpCatalogue, HasEveryOpOnce) {
  std::map<std::string, int> listed;
  for (const CatalogueRow& row : catalogue())
    for (const std::string& op : row.ops) ++listed[op];
  std::set<std::string> known;
  for (const KernelEntry& entry : cpu_kernels()) known.emplace(entry.op);
  for (const KernelEntry& entry : cuda_kernels()) known.emplace(entry.op);
  for (const std::string& op : known)
    EXPECT_EQ(listed[op], 1) << op << ": docs/audit.md needs it in one row of its catalogue";
  for (const auto& [op, count] : listed) EXPECT_TRUE(known.contains(op)) << op << " is no op";
}

TEST(OpCatalogue, SaysHowAndByWhichTest) {
  std::vector<CatalogueRow> rows = catalogue();
  EXPECT_THAT(rows, Not(IsEmpty()));
  for (const CatalogueRow& row : rows) {
    EXPECT_NE(row.cpu, "") << row.ops.front();
    EXPECT_NE(row.cuda, "") << row.ops.front();
    fs::path test = fs::path(SPIRE_SOURCE) / "tests/kernels/ops" / (row.test + ".cpp");
    EXPECT_TRUE(fs::exists(test)) << test;
  }
}

TEST(OpCatalogue, NoKernelSumsFloatsByAtomics) {
  int sources = 0;
  for (const char* room : {"kernels", "engine"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(SPIRE_SOURCE) / room)) {
      if (entry.path().extension() != ".cu") continue;
      std::ifstream file(entry.path());
      std::string text{std::istreambuf_iterator<char>(file), {}};
      EXPECT_EQ(text.find("atomicAdd"), text.npos) << entry.path();
      ++sources;
    }
  EXPECT_GT(sources, 20);
}

}  // namespace
}  // namespace spire
