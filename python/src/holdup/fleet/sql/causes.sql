-- causes: the time of all GPUs by cause and place, most first. Input: digests, members.
CREATE OR REPLACE TEMP VIEW causes AS
SELECT coalesce(cause, 'busy') AS cause, place, CASE WHEN cause IS NULL THEN NULL ELSE name END AS call,
       sum(ns) AS ns, count(DISTINCT who) AS gpus, max(ns) AS most_ns, CASE WHEN max(ns) * count(DISTINCT who) >= 1.5 * sum(ns) OR count(*) = 1 THEN arg_max(rank, ns) END AS most_rank
FROM (SELECT who, members.rank, d.cause, d.place, d.name, sum(d.ns) AS ns
      FROM digests d JOIN members USING (trace, device)
      WHERE d.kind = 'account' AND members.copy = 1
      GROUP BY ALL)
GROUP BY ALL
;
