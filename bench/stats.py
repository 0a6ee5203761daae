"""stats.py - from samples to figures.

A figure is the median of a few runs with the smallest and the largest beside
it: no mean, because a busy machine only ever makes a run slower, and no
standard deviation, because three to nine runs do not have one.  A ratio is
median over median; its spread is the way's own smallest and largest run over
the native median.

Costs of one per cent need hundreds of short times: of those, the lower quartile
(bench/sampling says why).
"""
import math
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Figure:
    """A median with its spread."""
    median: float
    min: float
    max: float

    def over(self, base: float) -> "Figure":
        """The same as a multiple of something."""
        if base <= 0:
            return Figure(math.nan, math.nan, math.nan)
        return Figure(self.median / base, self.min / base, self.max / base)


def median(values: list[float]) -> float:
    """The middle one, or the mean of the two in the middle."""
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        raise ValueError("no samples")
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def lower_quartile(values: list[float]) -> float:
    """A quarter of them are smaller."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no samples")
    k, part = divmod(len(ordered) - 1, 4)
    upper = ordered[min(k + 1, len(ordered) - 1)]
    return ordered[k] + (upper - ordered[k]) * part / 4


def figure(values: list[float]) -> Figure:
    """Median, smallest and largest."""
    return Figure(median(values), min(values), max(values))


def geomean(values: list[float]) -> float:
    """The mean that ratios have."""
    if not values or min(values) <= 0:
        return math.nan
    return math.exp(sum(math.log(v) for v in values) / len(values))


def rotated(items: list[T], turns: int) -> list[T]:
    """The order of a repeat: each begins one further on."""
    k = turns % len(items) if items else 0
    return items[k:] + items[:k]
