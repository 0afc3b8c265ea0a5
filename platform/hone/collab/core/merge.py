"""Two drafts of one origin as one: text by words, messages one by one, settings key by key.

Whatever one side alone changed is taken. Where both changed the same thing differently there is a
Conflict, which holds all three; `core.resolve` makes a content of a merge and what was chosen.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from hone.collab.core.pairing import Message, message_key, pair
from hone.collab.core.shape import Shape
from hone.collab.core.threeway import Piece, text_merge

Held = tuple[Any, ...]  # () where there is nothing, else (value,)
NOTHING: Held = ()


class MergeError(ValueError):
    """Contents that cannot be merged; the message says why."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What both sides changed, differently.

    kind: `text` (three texts), `value` (of a setting), `presence` (a message that one side edited
    and the other removed), `order` (of the messages: lists of places in the merge's entries).
    """

    id: str
    kind: Literal["text", "value", "presence", "order"]
    where: str
    base: Held
    mine: Held
    theirs: Held


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a text; with a conflict where it is one."""

    piece: Piece
    conflict: Conflict | None


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of a map: what the sides say, what becomes of it unless there is a conflict."""

    base: Held
    mine: Held
    theirs: Held
    conflict: Conflict | None

    @property
    def value(self) -> Held:
        return self.theirs if self.mine == self.base else self.mine


Settings = dict[str, "Setting | Settings"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of the merge and its places in the three lists.

    whole: the message, where one side's is taken as it is; else `content` (None: it is among
    `rest`) and the message's other keys are merged.
    """

    base: int | None
    mine: int | None
    theirs: int | None
    whole: Message | None
    content: list[Stretch] | None = None
    rest: Settings = field(default_factory=dict)
    conflict: Conflict | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """All of a prompt. `order`: the sides' orders of the entries, where they disagree."""

    type: str
    text: list[Stretch]
    entries: list[Entry]
    order: Conflict | None
    config: Settings
    variables: Settings
    conflicts: dict[str, Conflict]


@dataclass(slots=True)
class _Conflicts:
    """Gives out ids that depend on what the sides say alone, so that a decision outlives edits
    of anything else."""

    found: dict[str, Conflict] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)

    def add(self, kind: Any, where: str, base: Held, mine: Held, theirs: Held) -> Conflict:
        said = orjson.dumps([kind, base, mine, theirs], option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(said).hexdigest()[:12]
        self.times[digest] += 1
        times = self.times[digest]
        key = digest if times == 1 else f"{digest}-{times}"
        conflict = Conflict(key, kind, where, base, mine, theirs)
        self.found[key] = conflict
        return conflict


def shapes_merge(base: Shape, mine: Shape, theirs: Shape) -> Merge:
    """The three as one; raises MergeError where one is a text and another a chat."""
    if mine.type != theirs.type:
        raise MergeError(f"one is a {mine.type} prompt, the other a {theirs.type} prompt")
    if base.type != mine.type:
        base = Shape(mine.type, "" if mine.type == "text" else [], base.config, base.variables)
    conflicts = _Conflicts()
    text: list[Stretch] = []
    entries: list[Entry] = []
    order = None
    if mine.type == "text":
        text = _text(str(base.prompt), str(mine.prompt), str(theirs.prompt), "text", conflicts)
    else:
        lists = tuple(list(shape.prompt) for shape in (base, mine, theirs))
        entries, order = _messages(lists, conflicts)  # type: ignore[arg-type]
    config = _map(base.config, mine.config, theirs.config, "config", conflicts)
    variables = _map(base.variables, mine.variables, theirs.variables, "variables", conflicts)
    return Merge(mine.type, text, entries, order, config, variables, conflicts.found)


def _text(base: str, mine: str, theirs: str, where: str, conflicts: _Conflicts) -> list[Stretch]:
    out = []
    for piece in text_merge(base, mine, theirs):
        held = ((piece.base,), (piece.mine,), (piece.theirs,))
        conflict = conflicts.add("text", where, *held) if piece.kind == "conflict" else None
        out.append(Stretch(piece, conflict))
    return out


def _map(
    base: Mapping[str, Any],
    mine: Mapping[str, Any],
    theirs: Mapping[str, Any],
    where: str,
    conflicts: _Conflicts,
) -> Settings:
    out: Settings = {}
    for key in sorted({*base, *mine, *theirs}):
        b, m, t = ((side[key],) if key in side else NOTHING for side in (base, mine, theirs))
        if m == t or b in (m, t):
            out[key] = Setting(b, m, t, None)
        elif all(held and isinstance(held[0], dict) for held in (m, t)):
            inner = b[0] if b and isinstance(b[0], dict) else {}
            out[key] = _map(inner, m[0], t[0], f"{where}.{key}", conflicts)
        else:
            conflict = conflicts.add("value", f"{where}.{key}", b, m, t)
            out[key] = Setting(b, m, t, conflict)
    return out


Lists = tuple[list[Message], list[Message], list[Message]]


def _messages(lists: Lists, conflicts: _Conflicts) -> tuple[list[Entry], Conflict | None]:
    base, mine, theirs = lists
    to_mine, to_theirs = pair(base, mine), pair(base, theirs)
    entries: list[Entry] = []
    for b in range(len(base)):
        entry = _entry(lists, b, to_mine.get(b), to_theirs.get(b), conflicts)
        if entry is not None:
            entries.append(entry)
    new_mine = _without(mine, to_mine)
    new_theirs = _without(theirs, to_theirs)
    for m in new_mine:
        key = message_key(mine[m])
        twin = next((t for t in new_theirs if message_key(theirs[t]) == key), None)
        if twin is not None:
            new_theirs.remove(twin)
        entries.append(Entry(None, m, twin, mine[m]))
    entries += [Entry(None, None, t, theirs[t]) for t in new_theirs]
    return _ordered(entries, conflicts)


def _without(messages: Sequence[Message], paired: Mapping[int, int]) -> list[int]:
    taken = set(paired.values())
    return [place for place in range(len(messages)) if place not in taken]


def _entry(
    lists: Lists, b: int, m: int | None, t: int | None, conflicts: _Conflicts
) -> Entry | None:
    """What becomes of a message of the origin; None where it is removed."""
    base, mine, theirs = lists
    where = f"message {b + 1}, {base[b].get('role', 'placeholder')}"
    if m is not None and t is not None:
        return _merged(b, m, t, (base[b], mine[m], theirs[t]), where, conflicts)
    if m is None and t is None:
        return None
    stays = mine[m] if m is not None else theirs[t or 0]
    if stays == base[b]:
        return None
    held = ((base[b],), (stays,) if m is not None else NOTHING, (stays,) if m is None else NOTHING)
    return Entry(b, m, t, stays, conflict=conflicts.add("presence", where, *held))


def _merged(
    b: int,
    m: int,
    t: int,
    messages: tuple[Message, Message, Message],
    where: str,
    conflicts: _Conflicts,
) -> Entry:
    base, mine, theirs = messages
    if mine == theirs or theirs == base:
        return Entry(b, m, t, mine)
    if mine == base:
        return Entry(b, m, t, theirs)
    texts = [message.get("content") for message in messages]
    if not all(isinstance(text, str) for text in texts):
        return Entry(b, m, t, None, rest=_map(base, mine, theirs, where, conflicts))
    content = _text(str(texts[0]), str(texts[1]), str(texts[2]), where, conflicts)
    others = [{k: v for k, v in message.items() if k != "content"} for message in messages]
    return Entry(b, m, t, None, content, _map(others[0], others[1], others[2], where, conflicts))


def _ordered(entries: list[Entry], conflicts: _Conflicts) -> tuple[list[Entry], Conflict | None]:
    """The entries in the order of both sides, and their two orders where they disagree.

    Those that both sides have are the spine; what one side alone has follows the one that it
    follows there.
    """
    ids = range(len(entries))
    in_mine = sorted((n for n in ids if entries[n].mine is not None), key=_place(entries, "mine"))
    in_theirs = sorted(
        (n for n in ids if entries[n].theirs is not None), key=_place(entries, "theirs")
    )
    spines = (
        [n for n in in_mine if n in set(in_theirs)],
        [n for n in in_theirs if n in set(in_mine)],
    )
    old = [[n for n in spine if entries[n].base is not None] for spine in spines]
    origin = sorted(old[0], key=_place(entries, "base"))
    agreed = _agreed(origin, old, spines)
    wanted = (agreed or spines[0], spines[1])
    orders = [_woven(spine, in_mine, in_theirs, entries) for spine in wanted]
    result = [entries[n] for n in orders[0]]
    if agreed is not None:
        return result, None
    place = {n: at for at, n in enumerate(orders[0])}
    mine, theirs = ([place[n] for n in order] for order in orders)
    said = [[[message_key(_shown(result[n])) for n in side]] for side in (mine, theirs)]
    named = conflicts.add("order", "order of the messages", NOTHING, tuple(said[0]), tuple(said[1]))
    conflict = Conflict(named.id, "order", named.where, NOTHING, (mine,), (theirs,))
    conflicts.found[named.id] = conflict
    return result, conflict


def _place(entries: Sequence[Entry], side: str) -> Any:
    return lambda n: getattr(entries[n], side)


def _shown(entry: Entry) -> Message:
    return entry.whole or {"base": entry.base}


def _agreed(
    origin: list[int], old: list[list[int]], spines: tuple[list[int], list[int]]
) -> list[int] | None:
    """The order of whichever side moved anything; None where both did, differently."""
    mine, theirs = spines
    if mine == theirs or (old[1] == origin and old[0] != origin):
        return mine
    return theirs if old[0] == origin and old[1] != origin else None


def _woven(
    spine: list[int], in_mine: list[int], in_theirs: list[int], entries: Sequence[Entry]
) -> list[int]:
    """The spine with what one side alone has, each run of it behind what it follows there.

    Two runs at one place stand in an order that does not depend on whose is whose.
    """
    held = set(spine)
    runs: dict[int | None, list[list[int]]] = {}
    for order in (in_mine, in_theirs):
        after: int | None = None
        begun: set[int | None] = set()
        for n in order:
            if n in held:
                after = n
                continue
            if after not in begun:
                runs.setdefault(after, []).append([])
                begun.add(after)
            runs[after][-1].append(n)

    def said(run: list[int]) -> list[str]:
        return [message_key(_shown(entries[n])) for n in run]

    out: list[int] = []
    for at in [None, *spine]:
        out += [] if at is None else [at]
        for run in sorted(runs.get(at, []), key=said):
            out += run
    return out
