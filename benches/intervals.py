"""How far a mean of few measurements may be from that of many."""

import math
import statistics


def student(freedom: int) -> float:
    """Student's t: 95 of 100 stay within so much. Abramowitz and Stegun, 26.7.5; 24 % too low for one degree of freedom, 3 % for
    two, less than 1 % for more."""
    z = statistics.NormalDist().inv_cdf(0.975)
    terms = [
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    ]
    return sum(term / freedom**power for power, term in enumerate(terms))


def interval(values: list[float]) -> tuple[float, float]:
    """The mean, and how far that of many more may be from it: 95 of 100 times no farther."""
    return statistics.mean(values), student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
