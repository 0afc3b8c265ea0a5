from hone_engine.engine.meters import WINDOW_S, Histogram, Rate


def test_a_histogram_counts_by_upper_bound() -> None:
    histogram = Histogram((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 99.0):
        histogram.observe(value)
    assert histogram.counts == [2, 1, 1]
    assert histogram.total == 102.0


def test_a_rate_is_over_the_seconds_seen_so_far() -> None:
    rate = Rate()
    assert rate.per_second(1000.0) == 0.0
    for second in range(4):
        rate.add(50, 1000.0 + second)
    assert rate.per_second(1004.0) == 50.0


def test_a_rate_forgets_what_is_older_than_its_window() -> None:
    rate = Rate()
    rate.add(1000, 1000.5)
    assert rate.per_second(1001.0) == 1000.0
    assert rate.per_second(1001.0 + WINDOW_S) == 0.0
    rate.add(10, 1000.5 + 3 * WINDOW_S)
    assert rate.per_second(1001.0 + 3 * WINDOW_S) == 10.0
