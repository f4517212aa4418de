-- joined: each kernel with how long it waited for the last rank, and how much later than the first it began. The kernels of a
-- collective end together, so the shortest belongs to the last rank: no clock is compared. Input: collectives, aligned, members, digested_collectives.
CREATE OR REPLACE TEMP TABLE joined AS
WITH known AS (
    SELECT c.*, a.reference, c.seq + a.skipped AS number, c.end_ns - a.shift_ns AS ended_ns
    FROM collectives c JOIN aligned a USING (who, comm)
), reach AS (
    SELECT who, comm, reference, min(number) AS low, max(number) AS high FROM known GROUP BY ALL
), marks AS (
    SELECT comm, reference, low AS number, 1 AS change FROM reach
    UNION ALL SELECT comm, reference, high + 1, -1 FROM reach
), sizes AS (
    -- Ranks whose traces reach to a collective: one that ended early says nothing of those after.
    SELECT comm, reference, number, sum(sum(change)) OVER (PARTITION BY comm, reference ORDER BY number) AS members
    FROM marks GROUP BY comm, reference, number
), whole AS (
    SELECT comm, reference, number, min(took_ns) AS shortest_ns, max(took_ns) AS longest_ns,
           CAST(median(ended_ns) AS BIGINT) AS at_ns, arg_min(who, took_ns) AS last, arg_max(who, took_ns) AS first, count(*) AS kernels, avg(CAST(alone AS INTEGER)) >= 0.9 AS apart
    FROM known GROUP BY ALL
)
SELECT known.*, at_ns, last, first, apart, took_ns - shortest_ns AS waited_ns, longest_ns - took_ns AS late_ns,
       longest_ns - shortest_ns AS spread_ns
FROM known JOIN whole USING (comm, reference, number)
ASOF JOIN sizes ON known.comm = sizes.comm AND known.reference = sizes.reference AND known.number >= sizes.number
WHERE kernels = members AND members > 1;

-- late: each collective whose last rank began more than 50 us after the first, with what all others lost.
CREATE OR REPLACE TEMP TABLE late AS
SELECT comm, reference, number, any_value(last) AS who, any_value(first) AS early, max(spread_ns) AS late_ns,
       sum(waited_ns) FILTER (waited_ns > 50000) AS cost_ns
FROM joined GROUP BY comm, reference, number HAVING max(spread_ns) > 50000;

-- bounds: for the last and the first rank of such a collective, between which of their own collectives they are compared: from
-- the last one at which nearly all ranks did nothing else.
CREATE OR REPLACE TEMP TABLE bounds AS
WITH marked AS (
    SELECT who, comm, reference, number, n,
           max(CASE WHEN apart THEN n END) OVER (PARTITION BY who ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS since
    FROM joined
    WHERE who IN (SELECT who FROM late UNION SELECT early FROM late)
)
SELECT late.who AS late, marked.who, marked.who = late.who AS is_late, since, marked.n
FROM late JOIN marked USING (comm, reference, number)
WHERE marked.who IN (late.who, late.early) AND since IS NOT NULL;

-- more: what late ranks did more than the first ones, by cause and place: 'collective-wait' is what their GPUs worked longer, or what they
-- waited at another collective themselves.
CREATE OR REPLACE TEMP TABLE more AS
WITH spent AS (
    SELECT m.who, CAST(d.n AS INTEGER) AS n, d.cause, d.place, d.name, d.ns
    FROM digested_collectives d JOIN members m USING (trace, device)
    WHERE d.kind = 'before' AND m.copy = 1 AND m.who IN (SELECT who FROM bounds)
), compared AS (
    SELECT late, cause, place, name, sum(CASE WHEN is_late THEN ns ELSE -ns END) AS ns
    FROM bounds b JOIN spent s ON s.who = b.who AND s.n > b.since AND s.n <= b.n GROUP BY ALL
    UNION ALL
    SELECT late, 'collective-wait', NULL, NULL, sum(CASE WHEN is_late THEN worked_ns ELSE -worked_ns END)
    FROM bounds b JOIN collectives c ON c.who = b.who AND c.n > b.since AND c.n <= b.n GROUP BY ALL
    UNION ALL
    SELECT late, 'collective-wait', NULL, 'another collective', sum(CASE WHEN is_late THEN waited_ns ELSE -waited_ns END)
    FROM bounds b JOIN joined j ON j.who = b.who AND j.n > b.since AND j.n < b.n GROUP BY ALL
)
SELECT late AS who, cause, place, name AS call, sum(ns) AS ns FROM compared GROUP BY ALL HAVING sum(ns) > 0;

-- late_ranks: the ranks that others waited for, most costly first.
CREATE OR REPLACE TEMP VIEW late_ranks AS
SELECT who, rank, host, trace, device, count(*) AS late, CAST(median(late_ns) AS BIGINT) AS late_ns,
       sum(coalesce(cost_ns, 0)) AS cost_ns
FROM late JOIN members USING (who)
GROUP BY ALL;

-- late_causes: why, as parts of what it cost.
CREATE OR REPLACE TEMP VIEW late_causes AS
SELECT m.who, r.rank, m.cause, m.place, m.call, m.ns / sum(m.ns) OVER (PARTITION BY m.who) AS share,
       CAST(r.cost_ns * (m.ns / sum(m.ns) OVER (PARTITION BY m.who)) AS BIGINT) AS cost_ns
FROM more m JOIN late_ranks r USING (who)
;
