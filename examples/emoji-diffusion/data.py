# SPDX-License-Identifier: Apache-2.0
"""The data set in memory, the tokenizer, and the order in which samples are seen."""

import hashlib
import json
import re
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

from problem import Problem

MAX_TOKENS = 12
PADDING, UNKNOWN = 0, 1
WORD = re.compile(r"[a-z0-9]+")


class Tokenizer:
    """Words to small integers. The vocabulary follows from the captions: most frequent first, ties by spelling."""

    def __init__(self, vocabulary: list[str]):
        self.vocabulary = vocabulary
        self._index = {word: index + 2 for index, word in enumerate(vocabulary)}

    @classmethod
    def from_captions(cls, captions: list[str]) -> "Tokenizer":
        counts = Counter(word for caption in captions for word in WORD.findall(caption.lower()))
        return cls(sorted(counts, key=lambda word: (-counts[word], word)))

    @property
    def size(self) -> int:
        """Number of ids, with padding and unknown."""
        return len(self.vocabulary) + 2

    def encode(self, captions: list[str]) -> np.ndarray:
        """len(captions) x MAX_TOKENS int64; longer captions lose their tail, shorter ones end in PADDING."""
        ids = np.full((len(captions), MAX_TOKENS), PADDING, dtype=np.int64)
        for row, caption in enumerate(captions):
            words = WORD.findall(caption.lower())[:MAX_TOKENS]
            ids[row, : len(words)] = [self._index.get(word, UNKNOWN) for word in words]
        return ids

    def unknown_words(self, caption: str) -> list[str]:
        return [word for word in WORD.findall(caption.lower()) if word not in self._index]


class Dataset:
    """All samples: `images` uint8 N x 32 x 32 x 3 and `captions`. `digest` names the exact content."""

    def __init__(self, images: np.ndarray, captions: list[str]):
        self.images = images
        self.captions = captions
        content = hashlib.sha256(np.ascontiguousarray(images).tobytes())
        content.update(json.dumps(captions).encode())
        self.digest = content.hexdigest()

    @classmethod
    def load(cls, folder: Path) -> "Dataset":
        advice = f"Prepare it with `prepare.py --out {folder}`."
        try:
            with np.load(folder / "emoji-32.npz", allow_pickle=False) as archive:
                images = archive["images"]
            captions = json.loads((folder / "captions.json").read_text())
        except FileNotFoundError as error:
            raise Problem(f"no data set in {folder}: {error.filename} is not there. {advice}") from error
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise Problem(f"the data set in {folder} cannot be read ({error}). {advice}") from error
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1:] != (32, 32, 3) or len(images) == 0:
            raise Problem(f"{folder}/emoji-32.npz holds {images.dtype} {images.shape}, not uint8 N x 32 x 32 x 3. "
                          f"{advice}")
        if not isinstance(captions, list) or not all(isinstance(caption, str) for caption in captions):
            raise Problem(f"{folder}/captions.json is not a list of strings. {advice}")
        if len(captions) != len(images):
            raise Problem(f"{folder} has {len(images)} images but {len(captions)} captions. {advice}")
        return cls(images, captions)


class SampleOrder:
    """Which samples a step sees: a function of (seed, sample count, batch, step) and nothing else.

    Each epoch is a permutation. It comes from sorting raw Philox output, whose bits NumPy keeps stable between
    versions, unlike its shuffle. A batch may span two epochs, so no sample is dropped.
    """

    def __init__(self, seed: int, samples: int, batch: int):
        self._seed = seed
        self._samples = samples
        self._batch = batch
        self._permutation: tuple[int, np.ndarray] = (-1, np.empty(0, dtype=np.int64))

    def _epoch(self, epoch: int) -> np.ndarray:
        if self._permutation[0] != epoch:
            raw = np.random.Philox(key=[self._seed, epoch]).random_raw(self._samples)
            self._permutation = (epoch, np.argsort(raw, kind="stable"))
        return self._permutation[1]

    def batch_at(self, step: int) -> np.ndarray:
        """Sample numbers of the batch of `step`, which counts from 1."""
        first = (step - 1) * self._batch
        places = range(first, first + self._batch)
        return np.array([self._epoch(place // self._samples)[place % self._samples] for place in places])
