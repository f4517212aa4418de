-- members: each GPU of each trace, with the rank. Input: digests. One trace of a rank counts: the first by name.
CREATE OR REPLACE TEMP TABLE members AS
WITH traces AS (
    SELECT trace, any_value(rank) AS rank, any_value(host) AS host, max(ns) AS epoch_ns, max(bytes) AS world_size,
           max(end_ns - begin_ns) AS time_ns
    FROM digests WHERE kind = 'trace' GROUP BY trace
), gpus AS (
    SELECT trace, device, ns AS span_ns, ns2 AS exposed_ns, begin_ns AS from_ns, end_ns AS to_ns FROM digests WHERE kind = 'gpu'
), numbered AS (
    SELECT *, row_number() OVER (PARTITION BY coalesce(CAST(rank AS VARCHAR), trace), device ORDER BY trace) AS copy
    FROM traces JOIN gpus USING (trace)
)
SELECT CAST(row_number() OVER (ORDER BY rank, trace, device) AS INTEGER) AS who, * FROM numbered;
