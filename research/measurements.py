"""What a report is made of: lines of JSON by what they are for, and bars with what was measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Result = dict[str, Any]


@dataclass
class Measurements:
    """All lines of JSON, by what they are for; those of one trace by its name."""

    single: dict[str, Result] = field(default_factory=dict)
    passes: dict[str, Result] = field(default_factory=dict)
    peers: dict[str, dict[str, Result]] = field(default_factory=dict)
    churn: dict[float, dict[str, Result]] = field(default_factory=dict)
    adversaries: list[Result] = field(default_factory=list)
    speed: dict[str, Result] = field(default_factory=dict)

    def ratios(self, numerator: str, denominator: str = "peak_live_bytes") -> list[float]:
        return [result[numerator] / result[denominator] for result in self.single.values()]


@dataclass(frozen=True)
class Bar:
    """One number that the policy is held to: at most `limit`, or at least, in the form given."""

    measure: str
    value: float
    limit: float
    form: str = "{:.4f}"
    wants_more: bool = False

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.wants_more else self.value <= self.limit

    @property
    def wanted(self) -> str:
        return ("≥ " if self.wants_more else "≤ ") + self.form.format(self.limit)

    @property
    def measured(self) -> str:
        return self.form.format(self.value)
