-- late_ranks, late_causes: as those of lateness.sql, where one trace has all ranks: it has compared them itself, and its accounts have all waits.
-- Input: digests, members.
CREATE OR REPLACE TEMP VIEW late_ranks AS
SELECT who, members.rank AS rank, members.host AS host, trace, device, count AS late, ns2 AS late_ns, ns AS cost_ns, 0 AS hidden_ns
FROM digests d JOIN members USING (trace, device) WHERE kind = 'rank' AND count > 0;

CREATE OR REPLACE TEMP VIEW late_causes AS
SELECT who, r.rank, d.cause, d.place, d.name AS call, d.ns / greatest(r.cost_ns, 1) AS share, d.ns AS cost_ns, 0 AS hidden_ns
FROM digests d JOIN late_ranks r USING (trace, device) WHERE kind = 'rank-cause';
