"""Matches two lists of events that have the same parent: which of left is which of right.

Knows lanes, bound ids, types and steps, and fingerprints of what events contain otherwise.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence

from tracediff.diff.fingerprints import Fingerprint, Fingerprints
from tracediff.events import Event

LONGEST_COMMON_LIMIT = 100_000
"""Longest common subsequences larger than this many cells are replaced by first-come matching."""

Matches = list[tuple[int, int]]
Key = Callable[[int], Hashable]


def lane_key(event: Event) -> Hashable:
    """Return the lane as a hashable value; events of different lanes never match."""
    lane = event.payload.get("lane")
    return None if lane is None else tuple(sorted((key, str(value)) for key, value in lane.items()))


def type_key(event: Event) -> Hashable:
    """Return lane, component and type."""
    return lane_key(event), event.component, event.event_type


def full_key(event: Event) -> Hashable:
    """Return lane, component, type and logical step."""
    return lane_key(event), event.component, event.event_type, event.logical_step


def local_ids(event: Event) -> tuple[tuple[str, str], ...]:
    """Return the entries of the `ids` section, flattened to (key, id) pairs."""
    found: list[tuple[str, str]] = []
    for key, value in sorted(event.payload.get("ids", {}).items()):
        values = value if isinstance(value, list) else [value]
        found.extend((key, str(item)) for item in values)
    return tuple(found)


def match_siblings(
    left: Sequence[Event],
    right: Sequence[Event],
    left_pool: Sequence[int],
    right_pool: Sequence[int],
    bound: Mapping[str, str],
    fingerprints: tuple[Fingerprints, Fingerprints],
) -> Matches:
    """Return pairs of indices from the two pools that correspond.

    First by lane, type and bound ids, then by (component, type, step) where that is unique on both
    sides, then by the ids that those pairs bind, then, among several of one type, by equal content,
    then by longest common subsequence of (component, type); all within a lane.
    """
    matches: Matches = []
    has_ids = any(left[i].payload.get("ids") for i in left_pool)
    if has_ids:
        matches += _match_by_ids(left, right, left_pool, right_pool, bound)
    matches += _match_unique(
        *_rest(left_pool, right_pool, matches),
        lambda i: full_key(left[i]),
        lambda j: full_key(right[j]),
    )
    left_rest, right_rest = _rest(left_pool, right_pool, matches)
    if has_ids and left_rest and right_rest:
        newly_bound = {**bound}
        for i, j in matches:
            newly_bound.update(bindings(left[i], right[j]))
        matches += _match_by_ids(left, right, left_rest, right_rest, newly_bound)
        left_rest, right_rest = _rest(left_pool, right_pool, matches)
    if left_rest and right_rest:
        matches += _match_by_content(left, right, left_rest, right_rest, fingerprints)
        left_rest, right_rest = _rest(left_pool, right_pool, matches)
    if left_rest and right_rest:
        matches += _match_by_type(left, right, left_rest, right_rest)
    return matches


def bindings(left: Event, right: Event) -> dict[str, str]:
    """Return which local ids of right two corresponding events bind to those of left."""
    mine, other = local_ids(left), local_ids(right)
    if [key for key, _ in mine] != [key for key, _ in other]:
        return {}
    return {x: y for (_, x), (_, y) in zip(mine, other, strict=True)}


def _match_by_ids(
    left: Sequence[Event],
    right: Sequence[Event],
    left_pool: Sequence[int],
    right_pool: Sequence[int],
    bound: Mapping[str, str],
) -> Matches:
    return _match_unique(
        left_pool,
        right_pool,
        lambda i: _renamed(left[i], bound),
        lambda j: (type_key(right[j]), local_ids(right[j])),
    )


def _renamed(event: Event, bound: Mapping[str, str]) -> Hashable:
    """Return type and ids as the right side spells them; a unique value if any id is unbound."""
    ids = local_ids(event)
    if not ids or any(value not in bound for _, value in ids):
        return object()
    return type_key(event), tuple((key, bound[value]) for key, value in ids)


def _rest(
    left: Sequence[int], right: Sequence[int], matches: Matches
) -> tuple[list[int], list[int]]:
    taken_left = {i for i, _ in matches}
    taken_right = {j for _, j in matches}
    return [i for i in left if i not in taken_left], [j for j in right if j not in taken_right]


def _match_unique(
    left: Sequence[int], right: Sequence[int], left_key: Key, right_key: Key
) -> Matches:
    left_keys = [left_key(i) for i in left]
    right_keys = [right_key(j) for j in right]
    left_count, right_count = Counter(left_keys), Counter(right_keys)
    place = dict(zip(right_keys, right, strict=True))
    return [
        (i, place[key])
        for i, key in zip(left, left_keys, strict=True)
        if left_count[key] == 1 and right_count[key] == 1
    ]


def _match_by_content(
    left: Sequence[Event],
    right: Sequence[Event],
    left_pool: Sequence[int],
    right_pool: Sequence[int],
    fingerprints: tuple[Fingerprints, Fingerprints],
) -> Matches:
    """Match equal events among several of one type: their file order means nothing.

    Strictly first, then more and more loosely; of several that are equal the n-th is the n-th.
    """
    counts = [
        Counter(type_key(events[i]) for i in pool)
        for events, pool in ((left, left_pool), (right, right_pool))
    ]
    several = {key for key in counts[0].keys() & counts[1] if counts[0][key] + counts[1][key] > 2}
    left_open = [i for i in left_pool if type_key(left[i]) in several]
    right_open = [j for j in right_pool if type_key(right[j]) in several]
    matches: Matches = []
    for mine, other in zip(fingerprints[0].levels(), fingerprints[1].levels(), strict=True):
        if not left_open or not right_open:
            break
        found = _match_equal(left_open, right_open, mine, other)
        matches += found
        left_open, right_open = _rest(left_open, right_open, found)
    return matches


def _match_equal(
    left: Sequence[int], right: Sequence[int], mine: Fingerprint, other: Fingerprint
) -> Matches:
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for j in right:
        places[other(j)].append(j)
    matches: Matches = []
    for i in left:
        queue = places.get(mine(i))
        if queue:
            matches.append((i, queue.popleft()))
    return matches


def _match_by_type(
    left: Sequence[Event],
    right: Sequence[Event],
    left_pool: Sequence[int],
    right_pool: Sequence[int],
) -> Matches:
    lanes: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for i in left_pool:
        lanes[lane_key(left[i])][0].append(i)
    for j in right_pool:
        lanes[lane_key(right[j])][1].append(j)
    matches: Matches = []
    for left_lane, right_lane in lanes.values():
        left_types = [type_key(left[i]) for i in left_lane]
        right_types = [type_key(right[j]) for j in right_lane]
        for x, y in common_subsequence(left_types, right_types):
            matches.append((left_lane[x], right_lane[y]))
    return matches


def common_subsequence(left: Sequence[Hashable], right: Sequence[Hashable]) -> Matches:
    """Return index pairs of a longest common subsequence; first-come where that costs too much.

    Of several longest ones it is the same one whichever side is called left.
    """
    if [str(x) for x in right] < [str(x) for x in left]:
        return [(x, y) for y, x in _common(right, left)]
    return _common(left, right)


def _common(left: Sequence[Hashable], right: Sequence[Hashable]) -> Matches:
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    middle_left = left[start : len(left) - end]
    middle_right = right[start : len(right) - end]
    choose = (
        _longest_common
        if len(middle_left) * len(middle_right) <= LONGEST_COMMON_LIMIT
        else _first_come
    )
    middle = [(start + x, start + y) for x, y in choose(middle_left, middle_right)]
    tail = [(len(left) - k, len(right) - k) for k in range(end, 0, -1)]
    return [(k, k) for k in range(start)] + middle + tail


def _longest_common(left: Sequence[Hashable], right: Sequence[Hashable]) -> Matches:
    """Return a longest common subsequence by the usual table (Wagner and Fischer 1974)."""
    length = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for x in range(len(left) - 1, -1, -1):
        for y in range(len(right) - 1, -1, -1):
            length[x][y] = (
                length[x + 1][y + 1] + 1
                if left[x] == right[y]
                else max(length[x + 1][y], length[x][y + 1])
            )
    matches: Matches = []
    x = y = 0
    while x < len(left) and y < len(right):
        if left[x] == right[y]:
            matches.append((x, y))
            x, y = x + 1, y + 1
        elif length[x + 1][y] >= length[x][y + 1]:
            x += 1
        else:
            y += 1
    return matches


def _first_come(left: Sequence[Hashable], right: Sequence[Hashable]) -> Matches:
    """Pair the n-th of a kind with the n-th of that kind."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for y in range(len(right) - 1, -1, -1):
        places[right[y]].append(y)
    return [(x, places[kind].pop()) for x, kind in enumerate(left) if places[kind]]
