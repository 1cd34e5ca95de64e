#!/usr/bin/env python3
"""Checks that a shared library exports what its public headers mark, and that they mark what they must.

Usage: exported_symbols.py LIBRARY HEADERS     (HEADERS: a file, or a folder, of which c.h is for another library)

Every exported symbol belongs to a function or class behind SPIRE_API, or is a weak instance of a template of the
standard library. Every function or class behind SPIRE_API is exported. Functions that a header declares and does not
define stand behind SPIRE_API, and so does every class with such members or virtual functions. Templates need no mark.
"""
import pathlib
import re
import subprocess
import sys

# Templates of the standard library and their type information, as the compiler writes their names; and the type
# information of functions that std::function holds.
STANDARD = re.compile(r"_Z(T[ISV])?(GV)?Z?(N[KVRO]*)?(S[tabsiod]|9__gnu_cxx|10__cxxabiv1)|_ZT[IS]P?(Do)?F")
NOTES = re.compile(r"^(vtable|typeinfo|typeinfo name|guard variable) for ")
NAMESPACE = re.compile(r"\bnamespace\s+([\w:\s]*)$")
CLASS = re.compile(r"^(?:class|struct)\s+(SPIRE_API\s+)?(\w+)(?:\s+final)?(?:\s*:[^:].*)?$", re.S)
PROTOTYPE = re.compile(r"^(?!using\b|typedef\b|friend\b|template\b|static_assert\b|inline\b|constexpr\b)"
                       r".*?([\w~]+|operator\S+)\s*\(.*\)\s*(const|noexcept|override|final|\s)*$", re.S)


def without_comments(text):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', '""', text)
    return re.sub(r"^\s*#(.*\\\n)*.*$", "", text, flags=re.M)


def statements(text):
    """Yields (head, body) of each statement: body is None for `head;`, and the text in braces for `head { body }`."""
    head, body, depth, parentheses = "", "", 0, 0
    for c in text:
        parentheses += {"(": 1, ")": -1}.get(c, 0) if depth == 0 else 0
        if c == "{" and parentheses == 0:
            depth += 1
            if depth == 1:
                continue
        elif c == "}" and parentheses == 0:
            depth -= 1
            if depth == 0:
                yield head.strip(), body
                head = body = ""
                continue
        if depth > 0:
            body += c
        elif c == ";" and parentheses == 0:
            yield head.strip(), None
            head = ""
        else:
            head += c


def has_outside_members(body):
    for head, inner in statements(re.sub(r"\b(public|protected|private)\s*:", "", body)):
        if re.match(r"virtual\b", head) or (inner is None and PROTOTYPE.match(head)):
            return True
    return False


def read(text, scope, marked, missing):
    """Adds the marked names to `marked`, and to `missing` those that lack a mark."""
    for head, body in statements(text):
        head = re.sub(r"\[\[.*?\]\]\s*", "", head)
        inside = NAMESPACE.search(head) if body is not None else None
        declared_class = CLASS.match(head) if body is not None else None
        if inside:
            read(body, scope + re.findall(r"(?!inline\b)\b\w+", inside[1]), marked, missing)
        elif head == 'extern ""':
            read(body, [], marked, missing)
        elif declared_class:
            name = "::".join(scope + [declared_class[2]])
            if declared_class[1]:
                marked.add(name)
            elif has_outside_members(body):
                missing.append(name)
        elif body is None and PROTOTYPE.match(head):
            name = "::".join(scope + [PROTOTYPE.match(head)[1]])
            marked.add(name) if "SPIRE_API" in head else missing.append(name)


def exported(library):
    """Yields (kind, name as the compiler writes it, name as people do)."""
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    rows = [line.split()[-2:] for line in listed.splitlines()]
    names = subprocess.run(["c++filt"], input="\n".join(name for _, name in rows), check=True, capture_output=True,
                           text=True).stdout.splitlines()
    return [(kind, name.split("@")[0], plain) for (kind, name), plain in zip(rows, names)]


def main():
    library, headers = sys.argv[1], pathlib.Path(sys.argv[2])
    marked, missing = set(), []
    for header in [headers] if headers.is_file() else sorted(set(headers.rglob("*.h")) - {headers / "c.h"}):
        read(without_comments(header.read_text()), [], marked, missing)
    problems = [f"{name} is declared in a public header without SPIRE_API" for name in missing]
    seen, standard = set(), 0
    for kind, symbol, plain in exported(library):
        plain = NOTES.sub("", plain)
        name = re.match(r"(?:\w+::)*~?\w+", plain)
        parts = name[0].split("::") if name else []
        owners = {"::".join(parts[:n]) for n in range(1, len(parts) + 1)} & marked
        if owners:
            seen |= owners
        elif kind in "WVu" and STANDARD.match(symbol):
            standard += 1
        else:
            problems.append(f"{plain} ({kind} {symbol}) is exported, but no public header marks it")
    problems += [f"{name} is marked, but not exported" for name in sorted(marked - seen)]
    print("\n".join(problems[:40]) or f"{len(seen)} names are exported, and {standard} instances of std's templates")
    sys.exit(bool(problems) or not seen)


if __name__ == "__main__":
    main()
