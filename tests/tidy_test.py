# SPDX-License-Identifier: Apache-2.0
"""House rules that a machine can check: who may include whom, sizes, names, READMEs."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 600
MAX_README_LINES = 20

# The table of docs/ARCHITECTURE.md: a folder of src/ and the folders that it may include.
MAY_INCLUDE = {
    "base": set(),
    "io": {"base"},
    "net": {"base"},
    "db": {"base"},
    "object": {"base", "io", "net"},
    "jobs": {"base", "db"},
    "meta": {"base", "db"},
    "checkpoint": {"base", "io", "object"},
    "agent": {"base", "io", "net", "object", "jobs", "checkpoint"},
    "control": {"base", "io", "net", "db", "object", "jobs", "meta", "checkpoint"},
    "api": {"base", "io", "net", "db", "object", "jobs", "meta", "checkpoint",
            "control"},
}
BANNED_FOLDERS = {"utils", "util", "common", "core", "helpers", "misc"}
# Words that would tie the project to a place it was written at.
BANNED_WORDS = [r"\.\./shared", r"/work/main", r"registry\.npmjs\.org", r"deb\.debian\.org",
                r"pypi\.org"]
CODE = (".cc", ".h", ".py", ".sh", ".ts", ".tsx")


def tracked():
    out = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
                         check=True, capture_output=True, text=True).stdout
    return [ROOT / line for line in out.splitlines() if (ROOT / line).is_file()]


FILES = tracked()


def includes(path):
    return re.findall(r'^#include "([^"]+)"', path.read_text(), flags=re.MULTILINE)


def test_there_is_something_to_check():
    assert len(FILES) > 200
    assert {path.parent.name for path in (ROOT / "src").glob("*/README.md")} == set(MAY_INCLUDE)


@pytest.mark.parametrize("folder", sorted(MAY_INCLUDE))
def test_includes_go_only_where_the_table_says(folder):
    wrong = []
    for path in FILES:
        if path.suffix not in (".cc", ".h") or path.parent != ROOT / "src" / folder:
            continue
        for name in includes(path):
            other = name.split("/")[0]
            assert "/" in name, f"{path}: include \"{name}\" must begin with its folder"
            if other != folder and other not in MAY_INCLUDE[folder]:
                wrong.append(f"{path.relative_to(ROOT)} includes {name}")
    assert not wrong, "\n".join(wrong)


def test_the_table_is_the_one_in_the_documentation():
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    for folder, allowed in MAY_INCLUDE.items():
        row = re.search(rf"^\| `src/{folder}` \|[^|]*\|([^|]*)\|$", text, flags=re.MULTILINE)
        assert row, f"docs/ARCHITECTURE.md has no row for src/{folder}"
        assert set(row.group(1).replace("-", "").split()) == allowed, folder


def test_no_file_is_too_long():
    long = [f"{path.relative_to(ROOT)}: {count}" for path in FILES if path.suffix in CODE
            for count in [len(path.read_text().splitlines())] if count > MAX_LINES]
    assert not long, "\n".join(long)


def test_no_drawer_folders():
    drawers = {str(path.relative_to(ROOT)) for path in FILES
               if BANNED_FOLDERS & set(path.relative_to(ROOT).parts[:-1])}
    assert not drawers


def test_every_folder_says_why_it_exists():
    for folder in sorted((ROOT / "src").iterdir()):
        readme = folder / "README.md"
        assert readme.is_file(), f"{folder} has no README.md"
        assert len(readme.read_text().splitlines()) <= MAX_README_LINES, readme


def test_sources_carry_the_licence():
    bare = [str(path.relative_to(ROOT)) for path in FILES if path.suffix in CODE
            and "SPDX-License-Identifier: Apache-2.0" not in path.read_text()[:200]]
    assert not bare, "\n".join(bare)


def test_only_the_known_macros_are_defined():
    allowed = re.compile(r"#define (TRY|TRY_VOID|CHECK|LOG_[A-Z]+|LOAM_[A-Z0-9_]+|BOOST_[A-Z_]+)\b")
    wrong = []
    for path in FILES:
        if path.suffix in (".cc", ".h"):
            wrong += [f"{path.relative_to(ROOT)}: {line}" for line in path.read_text().splitlines()
                      if line.startswith("#define") and not allowed.match(line)]
    assert not wrong, "\n".join(wrong)


def test_headers_have_pragma_once():
    bare = [str(path.relative_to(ROOT)) for path in FILES
            if path.suffix == ".h" and "#pragma once" not in path.read_text()]
    assert not bare


def test_nothing_names_where_it_was_written():
    found = []
    for path in FILES:
        if path == Path(__file__).resolve() or path.suffix in (".png", ".npz"):
            continue
        text = path.read_text(errors="replace")
        found += [f"{path.relative_to(ROOT)}: {word}" for word in BANNED_WORDS
                  if re.search(word, text)]
    assert not found, "\n".join(found)
