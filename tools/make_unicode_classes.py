#!/usr/bin/env python3
"""Writes engine/data/text/unicode_classes.cpp from UnicodeData.txt (Debian: package unicode-data).

usage: make_unicode_classes.py UNICODE_VERSION UnicodeData.txt > engine/data/text/unicode_classes.cpp
"""
import sys

HEAD = """// Made by tools/make_unicode_classes.py from UnicodeData.txt of Unicode {version}; not edited by hand.
#include <spire/data/unicode_classes.h>

#include <algorithm>
#include <array>

namespace spire {{
namespace {{

// First and last code point; ascending.
struct CodeRange {{
  char32_t first, last;
}};

// clang-format off
"""

TAIL = """// clang-format on

template <typename Ranges>
bool is_in(const Ranges& ranges, char32_t code) {
  auto after = std::ranges::upper_bound(ranges, code, {}, &CodeRange::first);
  return after != ranges.begin() && code <= std::prev(after)->last;
}

}  // namespace

bool is_letter(char32_t code) {
  return is_in(letters, code);
}

bool is_number(char32_t code) {
  return is_in(numbers, code);
}

bool is_space(char32_t code) {
  return is_in(spaces, code);
}

}  // namespace spire"""

# The property White_Space is not in UnicodeData.txt: categories Zs, Zl, Zp and these.
CONTROL_SPACES = [*range(0x09, 0x0E), 0x85]


def read_codes(path):
    """(code point, general category) of every code point that has one."""
    first = None
    for line in open(path, encoding="ascii"):
        fields = line.split(";")
        code, name, category = int(fields[0], 16), fields[1], fields[2]
        if name.endswith(", First>"):
            first = code
            continue
        for each in range(code if first is None else first, code + 1):
            yield each, category
        first = None


def ranges_of(codes):
    ranges = []
    for code in sorted(codes):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return ranges


def table(name, codes):
    ranges = ranges_of(codes)
    lines = [f"constexpr std::array<CodeRange, {len(ranges)}> {name} = {{{{"]
    for i in range(0, len(ranges), 5):
        lines.append("  " + " ".join(f"{{{a:#x},{b:#x}}}," for a, b in ranges[i : i + 5]))
    return "\n".join(lines) + "\n}};"


def main():
    version, path = sys.argv[1:]
    codes = list(read_codes(path))
    print(HEAD.format(version=version), end="")
    print(table("letters", [c for c, category in codes if category[0] == "L"]))
    print(table("numbers", [c for c, category in codes if category[0] == "N"]))
    print(table("spaces", CONTROL_SPACES + [c for c, category in codes if category[0] == "Z"]))
    print(TAIL)


main()
