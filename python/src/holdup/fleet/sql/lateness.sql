-- joined: each kernel with how long it waited for the last rank, how much of that its GPU had nothing else to do, and how much later than
-- the first it began; of the time that the accounts are of. The kernels of a collective end together, so the shortest belongs to the last
-- rank: no clock is compared. Input: collectives, aligned, members, digested_collectives.
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
           CAST(median(ended_ns) AS BIGINT) AS at_ns, arg_min(who, took_ns) AS last, arg_max(who, took_ns) AS first, count(*) AS kernels,
           avg(CAST(alone AS INTEGER)) >= 0.9 AS apart, bool_or(steady) AS steady_all, count(DISTINCT trace) AS traces
    FROM known GROUP BY ALL
)
SELECT known.*, at_ns, last, first, apart, took_ns - shortest_ns AS waited_ns, longest_ns - took_ns AS late_ns,
       longest_ns - shortest_ns AS spread_ns,
       CASE WHEN traces = 1 THEN counted_ns ELSE greatest(counted_ns, took_ns - shortest_ns - computed_ns) END AS idle_ns
FROM known JOIN whole USING (comm, reference, number)
ASOF JOIN sizes ON known.comm = sizes.comm AND known.reference = sizes.reference AND known.number >= sizes.number
WHERE kernels = members AND members > 1 AND steady_all;

-- late: each collective whose last rank began more than 50 us after the first, with the time for which the GPUs of all others had nothing to
-- do, and how much of that their accounts do not have.
CREATE OR REPLACE TEMP TABLE late AS
SELECT comm, reference, number, any_value(last) AS who, any_value(first) AS early, max(spread_ns) AS late_ns,
       sum(idle_ns) FILTER (waited_ns > 50000) AS cost_ns, sum(idle_ns - counted_ns) FILTER (waited_ns > 50000) AS hidden_ns
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
SELECT late.who AS late, late.comm, late.reference, late.number, late.cost_ns, marked.who, marked.who = late.who AS is_late, since, marked.n
FROM late JOIN marked USING (comm, reference, number)
WHERE marked.who IN (late.who, late.early) AND since IS NOT NULL;

-- more: what late ranks did more than the first ones, by cause and place: 'collective-wait' is what their GPUs worked longer, or what they
-- waited at another collective themselves. Each collective counts for what it cost.
CREATE OR REPLACE TEMP TABLE more AS
WITH spent AS (
    SELECT m.who, CAST(d.n AS INTEGER) AS n, d.cause, d.place, d.name, d.ns
    FROM digested_collectives d JOIN members m USING (trace, device)
    WHERE d.kind = 'before' AND m.copy = 1 AND m.who IN (SELECT who FROM bounds)
), compared AS (
    SELECT late, b.comm, reference, number, cost_ns, cause, place, name, sum(CASE WHEN is_late THEN ns ELSE -ns END) AS ns
    FROM bounds b JOIN spent s ON s.who = b.who AND s.n > b.since AND s.n <= b.n GROUP BY ALL
    UNION ALL
    SELECT late, b.comm, reference, number, cost_ns, 'collective-wait', NULL, NULL, sum(CASE WHEN is_late THEN worked_ns ELSE -worked_ns END)
    FROM bounds b JOIN collectives c ON c.who = b.who AND c.n > b.since AND c.n <= b.n GROUP BY ALL
    UNION ALL
    SELECT late, b.comm, b.reference, b.number, cost_ns, 'collective-wait', NULL, 'another collective',
           sum(CASE WHEN is_late THEN waited_ns ELSE -waited_ns END)
    FROM bounds b JOIN joined j ON j.who = b.who AND j.n > b.since AND j.n < b.n GROUP BY ALL
), parts AS (
    SELECT *, ns / sum(ns) OVER (PARTITION BY late, comm, reference, number) AS part FROM compared WHERE ns > 0
)
SELECT late AS who, cause, place, name AS call, sum(cost_ns * part) AS ns FROM parts GROUP BY ALL HAVING sum(cost_ns * part) > 0;

-- late_ranks: the ranks that others waited for, most costly first.
CREATE OR REPLACE TEMP VIEW late_ranks AS
SELECT who, rank, host, trace, device, count(*) AS late, CAST(median(late_ns) AS BIGINT) AS late_ns,
       sum(coalesce(cost_ns, 0)) AS cost_ns, sum(coalesce(hidden_ns, 0)) AS hidden_ns
FROM late JOIN members USING (who)
GROUP BY ALL;

-- late_causes: why, as parts of what it cost, and of what the accounts do not have of that.
CREATE OR REPLACE TEMP VIEW late_causes AS
SELECT m.who, r.rank, m.cause, m.place, m.call, m.ns / sum(m.ns) OVER (PARTITION BY m.who) AS share,
       CAST(r.cost_ns * (m.ns / sum(m.ns) OVER (PARTITION BY m.who)) AS BIGINT) AS cost_ns,
       CAST(r.hidden_ns * (m.ns / sum(m.ns) OVER (PARTITION BY m.who)) AS BIGINT) AS hidden_ns
FROM more m JOIN late_ranks r USING (who)
;
