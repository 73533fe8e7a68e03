# SPDX-License-Identifier: Apache-2.0
"""Files that are either absent or whole.

A machine that runs this example may vanish at any instruction, so nothing here is ever written in place: bytes go to a
temporary name in the same folder, are flushed to the disk, and only then take the final name. Standard library only,
because both `prepare.py` (which must start without PyTorch) and the training program use it.
"""

import hashlib
import os
import shutil
from pathlib import Path


def sync_folder(folder: Path) -> None:
    """Flushes the folder's own entries: without this a rename may be lost with the power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_bytes(path: Path, data: bytes) -> None:
    """Replaces `path` by `data`. One writer at a time per path; readers see the old bytes or the new ones."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_folder(path: Path, files: dict[str, bytes]) -> None:
    """Creates the folder `path`, which must not exist yet, from these files; its name appears when all are whole."""
    temporary = path.with_name(f"{path.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        for name, data in files.items():
            with open(temporary / name, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        sync_folder(temporary)
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(path.parent)


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes in hexadecimal, read 1 MiB at a time so that a large archive needs little memory."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
