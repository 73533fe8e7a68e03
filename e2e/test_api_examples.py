# SPDX-License-Identifier: Apache-2.0
"""docs/API.md does what it says: each example is run, and what it prints is what stands below it."""

import json
import os
import re
import subprocess

import pytest
from harness import ROOT

TEXT = (ROOT / "docs" / "API.md").read_text()
# An example is a block of shell directly followed by a block of what it prints.
EXAMPLES = re.findall(r"^```sh\n(.*?)^```\n```(json|text)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def printed(shared_fleet):
    """What each example printed; they run in one shell, as they build upon one another."""
    fleet = shared_fleet
    fleet.node("api-md")
    directory = fleet.directory / "api-md"
    directory.mkdir()
    parts = [f"{{\n{shell}}} > printed-{i}\n" for i, (shell, _, _) in enumerate(EXAMPLES)]
    done = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", "".join(parts)], cwd=directory, timeout=120,
        capture_output=True, text=True, check=False,
        env={**os.environ, "LOAM_SERVER": fleet.server.url, "LOAM_STATE": str(fleet.server.state)})
    out = [path.read_text() if path.exists() else None
           for path in (directory / f"printed-{i}" for i in range(len(EXAMPLES)))]
    assert done.returncode == 0, f"{done.stderr}\nso far: {out}"
    return out


def pattern(text):
    return ".*".join(re.escape(part) for part in text.split("…"))


def agree(seen, wanted, where="answer"):
    """Whether JSON is as the page has it: `…` is any value or any part of a text, keys may be more."""
    if isinstance(wanted, dict):
        assert isinstance(seen, dict), where
        for key, value in wanted.items():
            assert key in seen, f"{where} has no {key}: {seen}"
            agree(seen[key], value, f"{where}.{key}")
    elif isinstance(wanted, list):
        assert isinstance(seen, list) and len(seen) == len(wanted), f"{where}: {seen}"
        for i, value in enumerate(wanted):
            agree(seen[i], value, f"{where}[{i}]")
    elif isinstance(wanted, str) and "…" in wanted:
        assert re.fullmatch(pattern(wanted), str(seen)), f"{where}: {seen}"
    else:
        assert seen == wanted, f"{where}: {seen}"


def test_every_block_of_shell_is_an_example_with_its_outcome():
    assert len(EXAMPLES) > 15
    assert TEXT.count("```sh\n") == len(EXAMPLES)


@pytest.mark.parametrize("number", range(len(EXAMPLES)),
                         ids=[re.sub(r"\W+", "-", shell)[:50] for shell, _, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(printed, number):
    _, kind, wanted = EXAMPLES[number]
    seen = printed[number]
    if kind == "json":
        agree(json.loads(seen), json.loads(wanted))
        return
    # The lines in this order, with others between them.
    at = 0
    for line in wanted.splitlines():
        found = re.compile(f"^{pattern(line)}$", re.MULTILINE).search(seen, at)
        assert found, f"no line like {line!r} from {at} on in {seen!r}"
        at = found.end()
