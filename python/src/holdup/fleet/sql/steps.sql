-- steps: the median step of each rank, ns. Input: digests, members.
CREATE OR REPLACE TEMP VIEW steps AS
SELECT who, members.rank AS rank, count(*) AS steps, CAST(median(end_ns - begin_ns) AS BIGINT) AS median_ns
FROM digests JOIN members USING (trace, device) WHERE kind = 'step' AND copy = 1 GROUP BY who, members.rank ORDER BY who;
