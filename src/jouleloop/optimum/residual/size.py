"""How many mappings there are whose loops may end early."""

from functools import lru_cache

from jouleloop.division import divisors
from jouleloop.mapspace.space import FREE, MapSpace


@lru_cache(maxsize=65536)
def count_chains(passes: int, limits: tuple[tuple[int, int, int, bool], ...]) -> int:
    """Return the number of ways to choose the ends of one dimension.

    ``limits`` holds by slot, innermost first, the fixed factor (`FREE` where it is open), the most, the least and
    whether two loops may share the factor. See docs/search-residual.md, "The mapspace".
    """
    if not limits:
        return int(passes == 1)
    fixed, most, least, both = limits[0]
    if both and fixed == FREE:
        ends = range(least, min(most, 2 * passes - 1) + 1)
        return sum(len(divisors(end)) * count_chains(-(-passes // end), limits[1:]) for end in ends)
    if fixed != FREE:
        if fixed > 1 and passes < 2:
            return 0
        return count_chains(-(-passes // fixed), limits[1:])
    total, end, high = 0, least, min(most, passes)
    while end <= high:
        left = -(-passes // end)
        # The last end that leaves as many passes.
        last = min(high, (passes - 1) // (left - 1) if left > 1 else high)
        total += (last - end + 1) * count_chains(left, limits[1:])
        end = last + 1
    return total


def factorizations(space: MapSpace) -> int:
    """Return the number of ways to choose the ends of all dimensions."""
    total = 1
    for d, bound in enumerate(space.problem.bounds):
        total *= count_chains(
            bound, tuple((slot.fixed[d], slot.most[d], slot.least[d], slot.both) for slot in space.slots)
        )
    return total
