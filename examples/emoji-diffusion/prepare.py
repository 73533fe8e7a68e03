# SPDX-License-Identifier: Apache-2.0
"""Turns a pinned npm package of emoji images into the example's data set.

The package is fetched once with the ordinary npm client, checked against a SHA-256 pinned below, and kept in
`${XDG_CACHE_HOME:-~/.cache}/loam/`; every later run is offline. The output depends on the archive alone: samples are
sorted by file name and nothing records a date or a path, so two machines prepare identical bytes.

Two layouts:
  (default)  emoji-32.npz   one array `images`, uint8, N x 32 x 32 x 3, RGB over white, stored without compression
             captions.json  a list of N lowercase captions in the same order
  --raw      NAME.png       the package's 64-pixel files, untouched
             captions.jsonl one {"file": NAME.png, "caption": TEXT} a line
Both add `prepared.json`, which names the source and each file's SHA-256; a second run verifies those and stops.
"""

import argparse
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from atomic import sha256_file, write_bytes

PACKAGE = "emoji-datasource-google"
VERSION = "16.0.0"
ARCHIVE_NAME = f"{PACKAGE}-{VERSION}.tgz"
ARCHIVE_SHA256 = "fb5fd131b362aab7a55542d2a147a79708cce0a8b1c1bbacd470172708b5c438"
FETCH_TIMEOUT_S = 900
FORMAT_VERSION = 1
PACKED_SIDE = 32
IMAGE_FOLDER = "package/img/google/64/"
METADATA = "package/emoji.json"


class PrepareError(Exception):
    """Something the user can act on; the message says what, of which package, and what to do."""


def progress(text: str) -> None:
    """Redraws one line for a person who watches; a log file gets nothing from it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "loam"


def advice(cached: Path) -> str:
    return (f"Connect to the network and run this again, or copy {ARCHIVE_NAME} "
            f"(from `npm pack {PACKAGE}@{VERSION}` on another machine) to {cached}.")


def run_npm(folder: Path, cached: Path) -> None:
    """Leaves the package's archive in `folder`. npm's own retries are shortened so that being offline shows at once."""
    command = ["npm", "pack", f"{PACKAGE}@{VERSION}", "--pack-destination", str(folder), "--loglevel=error",
               "--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
    try:
        # It runs inside the new folder, so that a package.json where the user stands cannot change what npm does.
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
    except FileNotFoundError as error:
        raise PrepareError(f"cannot fetch the npm package {PACKAGE}@{VERSION}: `npm` is not on PATH and {cached} is "
                           f"not there. Install npm (Debian: `apt install npm`). {advice(cached)}") from error
    except subprocess.TimeoutExpired as error:
        raise PrepareError(f"fetching the npm package {PACKAGE}@{VERSION} took more than {FETCH_TIMEOUT_S} s and was "
                           f"stopped. {advice(cached)}") from error
    if done.returncode != 0:
        said = "\n  ".join(done.stderr.strip().splitlines()[-6:]) or "(nothing)"
        raise PrepareError(f"cannot fetch the npm package {PACKAGE}@{VERSION}: npm ended with status "
                           f"{done.returncode} and {cached} is not there. {advice(cached)} npm said:\n  {said}")


def fetch_archive() -> Path:
    """The verified archive in the cache, fetched when absent. A damaged copy is reported and fetched again."""
    cached = cache_folder() / ARCHIVE_NAME
    if cached.is_file():
        if sha256_file(cached) == ARCHIVE_SHA256:
            return cached
        print(f"{cached} is damaged (its SHA-256 is not the pinned one); fetching it again", file=sys.stderr)
        cached.unlink()
    cached.parent.mkdir(parents=True, exist_ok=True)
    progress(f"fetching {PACKAGE}@{VERSION} with npm (about 75 MB)")
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cached.parent) as folder:
        run_npm(Path(folder), cached)
        fresh = Path(folder) / ARCHIVE_NAME
        if not fresh.is_file():
            raise PrepareError(f"npm reported success but did not write {ARCHIVE_NAME}. {advice(cached)}")
        found = sha256_file(fresh)
        if found != ARCHIVE_SHA256:
            raise PrepareError(f"{ARCHIVE_NAME} as fetched has SHA-256 {found}, but {ARCHIVE_SHA256} is pinned. Check "
                               "which registry npm uses (`npm config get registry`); do not use this archive.")
        os.replace(fresh, cached)
    return cached


def caption_of(entry: dict) -> str:
    """The Unicode name when there is one; newer entries without one have a short name such as `red_heart`."""
    text = entry.get("name") or entry["short_name"].replace("_", " ").replace("-", " ")
    return " ".join(text.lower().split())


def read_archive(archive: Path) -> list[tuple[str, str, bytes]]:
    """(file name, caption, PNG bytes) of every emoji that Google drew, sorted by file name."""
    images: dict[str, bytes] = {}
    entries = None
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            if member.name == METADATA:
                entries = json.load(tar.extractfile(member))
            elif member.name.startswith(IMAGE_FOLDER) and member.isfile():
                images[member.name[len(IMAGE_FOLDER):]] = tar.extractfile(member).read()
                if len(images) % 100 == 0:
                    progress(f"reading {archive.name}: {len(images)} images")
    if entries is None:
        raise PrepareError(f"{archive} has no {METADATA}; remove it and run this again.")
    samples = []
    for entry in entries:
        if not entry["has_img_google"]:
            continue
        name = entry["image"]
        if name not in images:
            raise PrepareError(f"{archive} lists {name} but has no image of that name; remove it and run this again.")
        samples.append((name, caption_of(entry), images[name]))
    if not samples:
        raise PrepareError(f"{archive} holds no images; remove it and run this again.")
    return sorted(samples)


def to_pixels(png: bytes) -> np.ndarray:
    """32 x 32 x 3 over white. Compositing comes before resizing, so that hidden colours never bleed into edges."""
    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    white = Image.new("RGBA", picture.size, (255, 255, 255, 255))
    flat = Image.alpha_composite(white, picture).convert("RGB")
    return np.asarray(flat.resize((PACKED_SIDE, PACKED_SIDE), Image.Resampling.BOX))


def packed_files(samples: list[tuple[str, str, bytes]]) -> dict[str, bytes]:
    images = np.empty((len(samples), PACKED_SIDE, PACKED_SIDE, 3), dtype=np.uint8)
    for index, (_, _, png) in enumerate(samples):
        images[index] = to_pixels(png)
        if index % 100 == 0:
            progress(f"packing image {index} of {len(samples)}")
    buffer = io.BytesIO()
    # Without compression the bytes do not depend on the zlib version, so the pinned sums hold everywhere.
    np.savez(buffer, images=images)
    captions = json.dumps([caption for _, caption, _ in samples], indent=0, ensure_ascii=False)
    return {"emoji-32.npz": buffer.getvalue(), "captions.json": captions.encode() + b"\n"}


def raw_files(samples: list[tuple[str, str, bytes]]) -> dict[str, bytes]:
    lines = [json.dumps({"file": name, "caption": caption}, ensure_ascii=False) for name, caption, _ in samples]
    return {**{name: png for name, _, png in samples}, "captions.jsonl": ("\n".join(lines) + "\n").encode()}


def already_prepared(out: Path, layout: str) -> bool:
    """True when `prepared.json` describes this very source and layout and every file it lists has the listed bytes."""
    try:
        record = json.loads((out / "prepared.json").read_text())
        same_source = (record["format"], record["archive_sha256"], record["layout"]) == (
            FORMAT_VERSION, ARCHIVE_SHA256, layout)
        return same_source and all(sha256_file(out / name) == digest for name, digest in record["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def prepare(out: Path, raw: bool) -> str:
    """Does the work; returns the line to print. `prepared.json` goes last, so its presence means that all is there."""
    layout = "raw" if raw else "packed"
    if already_prepared(out, layout):
        return f"{out} is already prepared and verified"
    samples = read_archive(fetch_archive())
    files = raw_files(samples) if raw else packed_files(samples)
    out.mkdir(parents=True, exist_ok=True)
    digests = {}
    for index, (name, data) in enumerate(files.items()):
        write_bytes(out / name, data)
        digests[name] = hashlib.sha256(data).hexdigest()
        if index % 100 == 0:
            progress(f"writing file {index} of {len(files)}")
    record = {"format": FORMAT_VERSION, "package": f"{PACKAGE}@{VERSION}", "archive_sha256": ARCHIVE_SHA256,
              "layout": layout, "samples": len(samples), "files": digests}
    write_bytes(out / "prepared.json", json.dumps(record, indent=1).encode() + b"\n")
    return f"{out}: {len(samples)} captioned emoji, layout {layout}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Fetch and prepare the emoji data set for the Loam training example.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the data set to; created when absent")
    parser.add_argument("--raw", action="store_true", help="write the 64-pixel PNGs and captions.jsonl instead")
    arguments = parser.parse_args()
    try:
        line = prepare(arguments.out, arguments.raw)
    except PrepareError as error:
        progress("")
        print(f"prepare.py: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        progress("")
        print(f"prepare.py: cannot read or write: {error}", file=sys.stderr)
        return 1
    progress("")
    print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
