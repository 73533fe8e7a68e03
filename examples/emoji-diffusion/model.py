# SPDX-License-Identifier: Apache-2.0
"""A small U-Net that predicts a denoising direction, told the time and a caption through FiLM.

Sized for a CPU: four levels (32, 16, 8 and 4 pixels), skips that add instead of concatenating, which halves the cost
of the decoder, and attention only at 4 pixels, where it costs next to nothing.
FiLM: Perez et al. 2017, https://arxiv.org/abs/1709.07871.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from data import PADDING

GROUPS = 8
TIME_FREQUENCIES = 32
LAYOUT_CHANNELS, LAYOUT_SIDE = 4, 16


class CaptionEncoder(nn.Module):
    """Token ids, batch x tokens, to batch x `out`. Each word weighs as much as a learnt score says (attention pooling).

    A caption of padding only is the "no caption" of classifier-free guidance and has a learnt vector of its own.
    """

    def __init__(self, vocabulary: int, out: int):
        super().__init__()
        self.words = nn.Embedding(vocabulary, out, padding_idx=PADDING)
        self.score = nn.Linear(out, 1)
        self.empty = nn.Parameter(torch.zeros(out))
        self.mix = nn.Sequential(nn.Linear(out, out), nn.SiLU(), nn.Linear(out, out))

    def forward(self, ids: Tensor) -> Tensor:
        words = self.words(ids)
        present = ids != PADDING
        # A finite floor instead of -inf: a row without words must not become NaN, not even where it is not used.
        scores = self.score(words).squeeze(-1).masked_fill(~present, -1e4)
        pooled = (functional.softmax(scores, dim=1).unsqueeze(-1) * words).sum(dim=1)
        pooled = torch.where(present.any(dim=1, keepdim=True), pooled, self.empty)
        return pooled + self.mix(pooled)


class TimeEncoder(nn.Module):
    """Diffusion time in [0, 1], shape batch, to batch x `out`."""

    def __init__(self, out: int):
        super().__init__()
        self.mix = nn.Sequential(nn.Linear(2 * TIME_FREQUENCIES, out), nn.SiLU(), nn.Linear(out, out))

    def forward(self, time: Tensor) -> Tensor:
        rates = torch.exp(torch.linspace(0.0, math.log(200.0), TIME_FREQUENCIES))
        angles = time[:, None] * rates
        return self.mix(torch.cat([angles.sin(), angles.cos()], dim=1))


class Block(nn.Module):
    """Two 3 x 3 convolutions with a skip; the condition scales and shifts between them. It starts as the identity."""

    def __init__(self, channels: int, condition: int):
        super().__init__()
        self.norm1 = nn.GroupNorm(GROUPS, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.film = nn.Linear(condition, 2 * channels)
        self.norm2 = nn.GroupNorm(GROUPS, channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.zeros_(self.conv2.weight)
        nn.init.zeros_(self.conv2.bias)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        hidden = self.conv1(functional.silu(self.norm1(x)))
        scale, shift = self.film(condition)[:, :, None, None].chunk(2, dim=1)
        hidden = self.norm2(hidden) * (1 + scale) + shift
        return x + self.conv2(functional.silu(hidden))


class Attention(nn.Module):
    """Every place looks at every other, so that distant parts of a picture agree. It starts as the identity."""

    def __init__(self, channels: int, heads: int = 4):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(GROUPS, channels)
        self.project = nn.Conv2d(channels, 3 * channels, 1)
        self.out = nn.Conv2d(channels, channels, 1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor) -> Tensor:
        batch, channels, height, width = x.shape
        parts = self.project(self.norm(x)).reshape(batch * self.heads, 3, channels // self.heads, height * width)
        query, key, value = parts.unbind(dim=1)
        weights = torch.softmax(query.transpose(1, 2) @ key / math.sqrt(channels // self.heads), dim=-1)
        mixed = (value @ weights.transpose(1, 2)).reshape(batch, channels, height, width)
        return x + self.out(mixed)


class UNet(nn.Module):
    """Pictures batch x 3 x 32 x 32, times and token ids to a direction of the pictures' shape.

    `width` is the channel count at full resolution, a multiple of 8; levels of 16, 8 and 4 pixels have 2, 3 and 3 times
    as many. The caption is also drawn as a coarse map of its own: emoji sit in the middle of their picture, so "round
    and yellow" is mostly a matter of place, and a linear map learns that in far fewer steps than FiLM alone.
    """

    def __init__(self, vocabulary: int, width: int = 32):
        super().__init__()
        channels = [width, 2 * width, 3 * width, 3 * width]
        condition = 6 * width
        self.caption = CaptionEncoder(vocabulary, condition)
        self.time = TimeEncoder(condition)
        self.layout = nn.Linear(condition, LAYOUT_CHANNELS * LAYOUT_SIDE * LAYOUT_SIDE)
        self.layout_in = nn.Conv2d(LAYOUT_CHANNELS, channels[1], 1)
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.ModuleList(Block(count, condition) for count in channels[:3])
        self.shrink = nn.ModuleList(nn.Conv2d(a, b, 2, stride=2) for a, b in zip(channels, channels[1:]))
        self.bottom_in = Block(channels[3], condition)
        self.attention = Attention(channels[3])
        self.bottom_out = Block(channels[3], condition)
        # The 1 x 1 convolution comes before the enlargement: the same result for a quarter of the work.
        self.narrow = nn.ModuleList(nn.Conv2d(b, a, 1) for a, b in zip(channels, channels[1:]))
        # Skips carry the input's noise. Where it drowns the picture they must fall silent, so the condition gates them.
        self.gate = nn.ModuleList(nn.Linear(condition, count) for count in channels[:3])
        self.up = nn.ModuleList(Block(count, condition) for count in channels[:3])
        self.head_norm = nn.GroupNorm(GROUPS, width)
        self.head = nn.Conv2d(width, 3, 3, padding=1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor, time: Tensor, ids: Tensor) -> Tensor:
        condition = functional.silu(self.time(time) + self.caption(ids))
        layout = self.layout(condition).reshape(-1, LAYOUT_CHANNELS, LAYOUT_SIDE, LAYOUT_SIDE)
        hidden = self.stem(x)
        skips = []
        for level, (block, shrink) in enumerate(zip(self.down, self.shrink)):
            if level == 1:
                hidden = hidden + self.layout_in(layout)
            hidden = block(hidden, condition)
            skips.append(hidden)
            hidden = shrink(hidden)
        hidden = self.bottom_out(self.attention(self.bottom_in(hidden, condition)), condition)
        for level in reversed(range(3)):
            gate = 2 * torch.sigmoid(self.gate[level](condition))[:, :, None, None]
            hidden = gate * skips[level] + double(self.narrow[level](hidden))
            hidden = self.up[level](hidden, condition)
        return self.head(functional.silu(self.head_norm(hidden)))


def double(x: Tensor) -> Tensor:
    """Twice the height and width, each value repeated."""
    return functional.interpolate(x, scale_factor=2, mode="nearest")


def parameter_count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
