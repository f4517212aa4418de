-- nodes: the machines whose GPUs spend their time otherwise than those of most machines: by cause, in parts of the GPUs' time, with
-- the median over all machines and the distance from it in median deviations. Input: digests, members.
CREATE OR REPLACE TEMP VIEW nodes AS
WITH hosts AS (
    SELECT host, sum(span_ns) AS span_ns, count(*) AS gpus FROM members WHERE copy = 1 AND host IS NOT NULL GROUP BY host
), spent AS (
    SELECT m.host, coalesce(d.cause, 'busy') AS cause, sum(d.ns) AS ns
    FROM digests d JOIN members m USING (trace, device)
    WHERE d.kind = 'account' AND m.copy = 1 AND m.host IS NOT NULL GROUP BY ALL
), shares AS (
    SELECT host, gpus, c.cause, coalesce(ns, 0) / span_ns AS share, coalesce(ns, 0) AS ns
    FROM hosts CROSS JOIN (SELECT DISTINCT cause FROM spent) c LEFT JOIN spent USING (host, cause)
), middles AS (
    SELECT cause, median(share) AS usual, mad(share) AS spread, count(*) AS hosts FROM shares GROUP BY cause
)
SELECT host, gpus, cause, share, usual, share - usual AS more, abs(share - usual) / greatest(spread, 0.001) AS distance
FROM shares JOIN middles USING (cause)
WHERE hosts >= 3 AND abs(share - usual) >= 0.01 AND abs(share - usual) > 5 * spread
ORDER BY abs(share - usual) DESC, host;
