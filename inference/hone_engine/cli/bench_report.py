"""What a benchmark found, as values: figures, their stages, what limits them, what would help."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Limit = Literal["memory", "compute", "launch", "host"]

STREAM_BOUND = 0.6  # share of the roof from which memory is the limit
HOST_BOUND = 0.9  # share of a step that the host takes, from which it is the limit


@dataclass(frozen=True, slots=True)
class Roof:
    """What the machine was measured to do: bytes and 16-bit (on a CPU: 8-bit) operations a second.

    launch_s: calls shorter than this are starts more than work.
    """

    bytes_per_second: float
    flops: float
    launch_s: float = 4e-6


@dataclass(frozen=True, slots=True)
class Stage:
    """All calls of one kind in a step: seconds, and their share of the roof that holds them."""

    name: str
    calls: int
    seconds: float
    share: float
    limit: Limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. share: of the roof, 0 to 1. streams 0: a prompt of `context` tokens."""

    figure: str
    value: float
    unit: str
    share: float
    host_us: float = 0.0
    streams: int = 0
    context: int = 0
    step_s: float = 0.0
    stages: tuple[Stage, ...] = ()

    @property
    def limit(self) -> Limit:
        """What holds the whole step up: the host, or what holds its longest stage."""
        if self.host_us > HOST_BOUND * self.step_s * 1e6 > 0:
            return "host"
        longest = max(self.stages, key=lambda stage: stage.seconds, default=None)
        return "compute" if longest is None else longest.limit

    @property
    def advice(self) -> str:
        """What to change, with what it would win at best."""
        return advice(self)


@dataclass(frozen=True, slots=True)
class Report:
    """A model on a machine. weight_bits: of a weight on average, as stored."""

    title: str
    device: str
    roof: Roof
    weight_bits: float
    streamed_bytes: int
    figures: list[Figure] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Plain values, limits and advice included."""
        record = asdict(self)
        for figure, found in zip(record["figures"], self.figures, strict=True):
            figure |= {"limit": found.limit, "advice": found.advice}
        return record


def stage(
    name: str, calls: int, seconds: float, *, num_bytes: int, ops: float, roof: Roof
) -> Stage:
    """A stage with its share of the roof and its limit. num_bytes, ops: 0 where not reckoned."""
    read, worked = num_bytes / roof.bytes_per_second, ops / roof.flops
    share = max(read, worked) / seconds if seconds else 0.0
    if read >= worked and read > STREAM_BOUND * seconds:
        limit: Limit = "memory"
    else:
        limit = "launch" if seconds < calls * roof.launch_s else "compute"
    return Stage(name, calls, seconds, share, limit)


def advice(figure: Figure) -> str:
    """What to change in batch, context, bits or cache so that the figure grows."""
    if figure.limit == "host":
        return "more streams a step, or a faster host: the device waits for the next step"
    longest = max(figure.stages, key=lambda part: part.seconds, default=None)
    if longest is None:
        return "nothing is known of the stages"
    part = longest.seconds / sum(s.seconds for s in figure.stages)
    if longest.name == "attention" and figure.streams:
        return (
            f"the cache is {part:.0%} of a step: 8 bits a number (--kv-dtype q8, on a GPU) take up "
            f"to {part / 2:.0%} off, half the context as much"
        )
    if longest.limit == "memory":
        return (
            f"weights are {part:.0%} of a step: a quarter fewer bits take up to {part / 4:.0%} "
            "off; more streams read them once for all"
        )
    if longest.limit == "launch":
        return f"more streams: a call of {longest.name} is more start than work"
    if figure.streams:
        return (
            f"{longest.name} is {part:.0%} of a step at {longest.share:.0%} of what it could do: "
            "more streams share the weights; fewer bits would not help here"
        )
    return (
        f"{longest.name} is {part:.0%} of the time, bound by arithmetic: longer steps "
        "(--max-step-tokens) or 16-bit weights that need no unpacking (--wide-copy, on a GPU)"
    )
