# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: folders `step-%08d`, each whole or refused.

A folder holds `model.pt` (weights), `training.pt` (the optimiser's tensors), `values.json` (step, settings, losses,
random generators) and `manifest.json` (size and SHA-256 of the other three). The order of the data needs no state: it
follows from the seed and the step. A folder is written as `step-%08d.tmp`, flushed, and renamed, so that a name without
`.tmp` means complete. The sums are still checked on the way in: a disk or a copy may have damaged it since.
"""

import hashlib
import io
import json
import pickle
import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from atomic import write_folder
from problem import Problem

FORMAT_VERSION = 1
KEEP_LAST = 2
COMPLETE = re.compile(r"step-(\d+)")
UNFINISHED = re.compile(r"step-\d+\.tmp")
FILES = ("model.pt", "training.pt", "values.json")


class Damaged(Exception):
    """This checkpoint must not be used; the one before it may."""


@dataclass
class Checkpoint:
    """One checkpoint in memory. `settings` is what must not change between the runs that share a folder."""

    step: int
    settings: dict
    threads: int
    model: dict
    optimizer: dict
    losses: dict
    generators: dict


def generator_states() -> dict:
    """The states of PyTorch's, NumPy's and Python's generators as values that JSON can hold."""
    name, keys, position, has_gauss, gauss = np.random.get_state()
    version, words, spare = random.getstate()
    return {"torch": torch.get_rng_state().numpy().tobytes().hex(),
            "numpy": [name, keys.tolist(), position, has_gauss, gauss],
            "python": [version, list(words), spare]}


def set_generator_states(states: dict) -> None:
    torch.set_rng_state(torch.frombuffer(bytearray.fromhex(states["torch"]), dtype=torch.uint8))
    name, keys, position, has_gauss, gauss = states["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), position, has_gauss, gauss))
    version, words, spare = states["python"]
    random.setstate((version, tuple(words), spare))


def serialized(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def complete_steps(folder: Path) -> list[tuple[int, Path]]:
    """(step, path) of every folder with a complete name, oldest first."""
    if not folder.is_dir():
        return []
    found = [(int(match[1]), path) for path in folder.iterdir() if (match := COMPLETE.fullmatch(path.name))]
    return sorted(entry for entry in found if entry[1].is_dir())


def save(folder: Path, checkpoint: Checkpoint) -> Path:
    """Writes the checkpoint durably, then removes all but the newest KEEP_LAST. Saving a saved step does nothing."""
    path = folder / f"step-{checkpoint.step:08d}"
    if path.exists():
        return path
    # PyTorch 1.13 loads tensors without running code from the file, but no floats; those go to JSON, which is exact.
    values = {"step": checkpoint.step, "settings": checkpoint.settings, "threads": checkpoint.threads,
              "losses": checkpoint.losses, "generators": checkpoint.generators,
              "optimizer_groups": checkpoint.optimizer["param_groups"]}
    files = {"model.pt": serialized(checkpoint.model), "training.pt": serialized(checkpoint.optimizer["state"]),
             "values.json": json.dumps(values).encode() + b"\n"}
    sums = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in files.items()}
    files["manifest.json"] = json.dumps({"format": FORMAT_VERSION, "files": sums}, indent=1).encode() + b"\n"
    write_folder(path, files)
    for _, old in complete_steps(folder)[:-KEEP_LAST]:
        shutil.rmtree(old, ignore_errors=True)
    return path


def verified_files(path: Path) -> dict[str, bytes]:
    """The contents of FILES once each has the size and the sum that the manifest lists; raises Damaged otherwise."""
    manifest = json.loads((path / "manifest.json").read_text())
    if manifest["format"] != FORMAT_VERSION:
        raise Damaged(f"its format is {manifest['format']}, this program reads {FORMAT_VERSION}")
    contents = {}
    for name in FILES:
        data, listed = (path / name).read_bytes(), manifest["files"][name]
        if len(data) != listed["bytes"]:
            raise Damaged(f"{name} has {len(data)} bytes, its manifest says {listed['bytes']}")
        if hashlib.sha256(data).hexdigest() != listed["sha256"]:
            raise Damaged(f"the SHA-256 of {name} is not the one in its manifest")
        contents[name] = data
    return contents


def load(path: Path) -> Checkpoint:
    """The checkpoint at `path`, or Damaged. Nothing in the files can run code, whoever wrote them."""
    try:
        contents = verified_files(path)
        values = json.loads(contents["values.json"])
        model, optimizer_state = (torch.load(io.BytesIO(contents[name]), weights_only=True)
                                  for name in ("model.pt", "training.pt"))
        return Checkpoint(values["step"], values["settings"], values["threads"], model,
                          {"state": optimizer_state, "param_groups": values["optimizer_groups"]},
                          values["losses"], values["generators"])
    except FileNotFoundError as error:
        raise Damaged(f"{Path(error.filename).name} is missing") from error
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, pickle.UnpicklingError) as error:
        raise Damaged(f"it cannot be read: {error!r}") from error


def set_aside(path: Path) -> Path:
    """Renames a damaged checkpoint to `NAME.damaged`: kept for a look, out of the way when the step is saved again."""
    aside = path.with_name(f"{path.name}.damaged")
    shutil.rmtree(aside, ignore_errors=True)
    path.rename(aside)
    return aside


def load_newest(folder: Path) -> Checkpoint | None:
    """The newest checkpoint that verifies, or None where there has never been one.

    A damaged one is reported, set aside and passed over. When none of several is good this raises Problem: starting
    from zero without being asked would throw the work away in silence.
    """
    if folder.is_dir():
        for path in folder.iterdir():
            if UNFINISHED.fullmatch(path.name):
                shutil.rmtree(path, ignore_errors=True)
    found = complete_steps(folder)
    for _, path in reversed(found):
        try:
            return load(path)
        except Damaged as error:
            print(f"refused checkpoint {path.name}: {error}; kept as {set_aside(path).name}", flush=True)
    if found:
        raise Problem(f"none of the {len(found)} checkpoints in {folder} is usable. Restore one, or empty the folder "
                      "to start from zero.")
    return None


def require_same_settings(checkpoint: Checkpoint, settings: dict, folder: Path) -> None:
    """Refuses to go on with another seed, batch, width or data set: the result would be neither run's."""
    for name, value in settings.items():
        saved = checkpoint.settings.get(name)
        if saved != value:
            raise Problem(f"the checkpoints in {folder} were made with {name} {saved}, this run has {name} {value}. "
                          "Use the same arguments, or another --checkpoints folder.")
