# SPDX-License-Identifier: Apache-2.0
"""prepare.py on a made-up archive in a private cache: the real package is never fetched here."""

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import prepare

HERE = Path(__file__).parent
ENTRIES = [
    {"image": "b.png", "name": "BLUE  HEART", "short_name": "blue_heart", "has_img_google": True},
    {"image": "a.png", "name": None, "short_name": "red_dot", "has_img_google": True},
    {"image": "c.png", "name": "NOT DRAWN", "short_name": "none", "has_img_google": False},
]


def png(colour: tuple[int, int, int, int]) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGBA", (64, 64), colour).save(buffer, format="PNG")
    return buffer.getvalue()


IMAGES = {"a.png": png((255, 0, 0, 255)), "b.png": png((0, 0, 255, 0))}


def write_archive(path: Path, images: dict[str, bytes]) -> None:
    members = {"package/emoji.json": json.dumps(ENTRIES).encode()}
    members.update({f"package/img/google/64/{name}": data for name, data in images.items()})
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A cache that already holds a made-up archive, whose sum is pinned in place of the real one."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    folder = tmp_path / "cache" / "loam"
    folder.mkdir(parents=True)
    write_archive(folder / prepare.ARCHIVE_NAME, IMAGES)
    monkeypatch.setattr(prepare, "ARCHIVE_SHA256", prepare.sha256_file(folder / prepare.ARCHIVE_NAME))
    return folder


def test_packed_layout_is_over_white_sorted_and_deterministic(cache, tmp_path):
    assert "2 captioned emoji" in prepare.prepare(tmp_path / "one", raw=False)
    prepare.prepare(tmp_path / "two", raw=False)
    images = np.load(tmp_path / "one" / "emoji-32.npz")["images"]
    assert images.shape == (2, 32, 32, 3) and images.dtype == np.uint8
    assert (images[0] == [255, 0, 0]).all()
    assert (images[1] == 255).all(), "a transparent pixel shows white, not its hidden colour"
    assert json.loads((tmp_path / "one" / "captions.json").read_text()) == ["red dot", "blue heart"]
    for name in ("emoji-32.npz", "captions.json", "prepared.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "captions.json", "emoji-32.npz", "prepared.json"]


def test_raw_layout_keeps_the_files_as_they_are(cache, tmp_path):
    prepare.prepare(tmp_path / "raw", raw=True)
    for name, data in IMAGES.items():
        assert (tmp_path / "raw" / name).read_bytes() == data
    lines = (tmp_path / "raw" / "captions.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"file": "a.png", "caption": "red dot"}, {"file": "b.png", "caption": "blue heart"}]


def test_a_second_run_only_verifies_and_repairs_damage(cache, tmp_path):
    out = tmp_path / "out"
    prepare.prepare(out, raw=False)
    before = (out / "emoji-32.npz").read_bytes()
    (cache / prepare.ARCHIVE_NAME).rename(cache / "hidden")
    assert "already prepared and verified" in prepare.prepare(out, raw=False)
    (cache / "hidden").rename(cache / prepare.ARCHIVE_NAME)
    (out / "emoji-32.npz").write_bytes(before[:-1])
    assert "2 captioned emoji" in prepare.prepare(out, raw=False)
    assert (out / "emoji-32.npz").read_bytes() == before


def test_an_archive_without_a_listed_image_is_refused(cache, tmp_path, monkeypatch):
    write_archive(cache / prepare.ARCHIVE_NAME, {"a.png": IMAGES["a.png"]})
    monkeypatch.setattr(prepare, "ARCHIVE_SHA256", prepare.sha256_file(cache / prepare.ARCHIVE_NAME))
    with pytest.raises(prepare.PrepareError, match="lists b.png but has no image"):
        prepare.prepare(tmp_path / "out", raw=False)
    assert not (tmp_path / "out").exists()


def run_prepare(tmp_path: Path, npm: str | None) -> subprocess.CompletedProcess:
    """prepare.py as a program with an empty cache and, as `npm`, this shell script or nothing."""
    programs = tmp_path / "bin"
    programs.mkdir()
    if npm is not None:
        (programs / "npm").write_text(f"#!/bin/sh\n{npm}\n")
        (programs / "npm").chmod(0o755)
    return subprocess.run([sys.executable, "prepare.py", "--out", str(tmp_path / "out")], cwd=HERE, text=True,
                          capture_output=True, timeout=60, check=False,
                          env={**os.environ, "PATH": str(programs), "XDG_CACHE_HOME": str(tmp_path / "cache")})


@pytest.mark.parametrize("npm, messages", [
    (None, ["`npm` is not on PATH", "Install npm"]),
    ("echo 'npm error code ENOTFOUND' >&2; exit 1", ["npm ended with status 1", "ENOTFOUND"]),
    ("exit 0", ["did not write"]),
    (f"echo junk > {prepare.ARCHIVE_NAME}", ["is pinned", "do not use this archive"]),
])
def test_without_the_package_it_says_what_to_do(tmp_path, npm, messages):
    done = run_prepare(tmp_path, npm)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    for message in [*messages, "emoji-datasource-google"]:
        assert message in done.stderr
    assert not (tmp_path / "out").exists()
    assert list((tmp_path / "cache" / "loam").iterdir()) == [], "a failed fetch leaves nothing in the cache"
