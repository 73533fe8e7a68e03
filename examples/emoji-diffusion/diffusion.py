# SPDX-License-Identifier: Apache-2.0
"""Noise, the training loss and the sampler.

At time t in [0, 1] a picture x is seen as cos(a) x + sin(a) e, where a = t pi / 2 and e is normal noise. The network
predicts v = cos(a) e - sin(a) x, which stays well scaled at both ends and so learns usable pictures in few steps
(Salimans and Ho 2022, https://arxiv.org/abs/2202.00512). Samples are drawn with DDIM (Song et al. 2020,
https://arxiv.org/abs/2010.02502) and classifier-free guidance (Ho and Salimans 2022, https://arxiv.org/abs/2207.12598).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from data import PADDING
from model import UNet

CAPTION_DROPOUT = 0.1
LAST_TIME = 0.995  # At exactly 1 the input holds no trace of the picture and the prediction is ill-defined.


def to_model(images: Tensor) -> Tensor:
    """uint8 N x H x W x 3 to float N x 3 x H x W in [-1, 1]."""
    return images.permute(0, 3, 1, 2).float() / 127.5 - 1


def to_pixels(x: Tensor) -> Tensor:
    """The inverse of `to_model`, rounded and clamped."""
    return ((x.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8).permute(0, 2, 3, 1)


def mix(time: Tensor) -> tuple[Tensor, Tensor]:
    angle = time * (math.pi / 2)
    return angle.cos()[:, None, None, None], angle.sin()[:, None, None, None]


def training_loss(model: UNet, pictures: Tensor, ids: Tensor) -> Tensor:
    """Mean squared error of v. Draws from PyTorch's global generator, whose state each checkpoint holds."""
    count = len(pictures)
    # One draw in each 1/count of the interval: every batch sees all noise levels, so the loss is less noisy.
    time = (torch.arange(count) + torch.rand(count)) / count * LAST_TIME
    dropped = torch.rand(count) < CAPTION_DROPOUT
    noise = torch.randn(pictures.shape)
    cosine, sine = mix(time)
    target = cosine * noise - sine * pictures
    predicted = model(cosine * pictures + sine * noise, time, ids.masked_fill(dropped[:, None], PADDING))
    return functional.mse_loss(predicted, target)


@torch.no_grad()
def sample(model: UNet, ids: Tensor, seed: int, steps: int, guidance: float,
           between: Callable[[], None] = lambda: None) -> Tensor:
    """uint8 N x 32 x 32 x 3, one for each row of `ids`. `between` runs before each step and may raise to stop.

    The noise comes from a generator of its own, so that samples depend on the weights and the seed only.
    """
    generator = torch.Generator().manual_seed(seed)
    count = len(ids)
    x = torch.randn(count, 3, 32, 32, generator=generator)
    both_ids = torch.cat([ids, torch.full_like(ids, PADDING)])
    times = torch.linspace(LAST_TIME, 0, steps + 1)
    for now, later in zip(times[:-1], times[1:]):
        between()
        cosine, sine = mix(now.expand(count))
        told, untold = model(torch.cat([x, x]), now.expand(2 * count), both_ids).chunk(2)
        v = untold + guidance * (told - untold)
        # Clipping the implied picture keeps strong guidance from driving colours out of range.
        picture = (cosine * x - sine * v).clamp(-1, 1)
        noise = (x - cosine * picture) / sine
        cosine, sine = mix(later.expand(count))
        x = cosine * picture + sine * noise
    return to_pixels(x)
