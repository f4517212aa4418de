-- nodes: the machines whose GPUs spend their time otherwise than those of most machines: by cause, in parts of the GPUs' time, beside the
-- median over all machines. Waits for later ranks are no part of `busy`. Input: digests, members, joined.
CREATE OR REPLACE TEMP VIEW nodes AS
WITH hosts AS (
    SELECT host, sum(span_ns) AS span_ns, count(*) AS gpus FROM members WHERE copy = 1 AND host IS NOT NULL GROUP BY host
), spent AS (
    SELECT m.host, coalesce(d.cause, 'busy') AS cause, sum(d.ns) AS ns
    FROM digests d JOIN members m USING (trace, device)
    WHERE d.kind = 'account' AND m.copy = 1 AND m.host IS NOT NULL GROUP BY ALL
    UNION ALL
    SELECT host, 'busy', -sum(idle_ns - counted_ns) FROM joined JOIN members USING (who) WHERE host IS NOT NULL GROUP BY host
), shares AS (
    SELECT host, gpus, c.cause, coalesce(sum(ns), 0) / any_value(span_ns) AS share
    FROM hosts CROSS JOIN (SELECT DISTINCT cause FROM spent) c LEFT JOIN spent USING (host, cause)
    GROUP BY ALL
), middles AS (
    SELECT cause, median(share) AS usual, mad(share) AS spread, count(*) AS hosts FROM shares GROUP BY cause
)
SELECT host, gpus, cause, share, usual, abs(share - usual) AS distance
FROM shares JOIN middles USING (cause)
WHERE hosts >= 3 AND abs(share - usual) >= 0.01 AND abs(share - usual) > 5 * spread;
