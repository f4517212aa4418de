-- cells: by rank and part of the run's time, how much later than the first rank it began a collective, at most. Input: joined.
CREATE OR REPLACE TEMP TABLE cells AS
WITH span AS (SELECT min(at_ns) AS low, greatest(max(at_ns) - min(at_ns), 1) AS length FROM joined)
SELECT who, CAST(least(floor((at_ns - low) * getvariable('columns') / length), getvariable('columns') - 1) AS INTEGER) AS x, max(late_ns) AS late_ns,
       max(waited_ns) AS waited_ns
FROM joined, span GROUP BY ALL;
