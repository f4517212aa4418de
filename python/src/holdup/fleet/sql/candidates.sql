-- candidates: how the collectives of a member fit those of a reference, if each belongs to the one that is `skipped` after it. Kernels of
-- one collective end together, so the difference of ends is that of the clocks, and changes little from one to the next.
-- Input: collectives, members, wanted (who, comm, reference, skipped, first): `first` is how many collectives are looked at.
CREATE OR REPLACE TEMP TABLE candidates AS
WITH pairs AS (
    SELECT w.who, w.comm, w.reference, w.skipped, c.seq, c.end_ns - r.end_ns AS apart_ns, c.name = r.name AS same
    FROM wanted w
    JOIN collectives c ON c.who = w.who AND c.comm = w.comm AND c.seq < w.first
    JOIN collectives r ON r.who = w.reference AND r.comm = w.comm AND r.seq = c.seq + w.skipped
), steps AS (
    SELECT *, apart_ns - lag(apart_ns) OVER (PARTITION BY who, comm, skipped ORDER BY seq) AS step_ns FROM pairs
), middles AS (
    SELECT who, comm, skipped, CAST(median(apart_ns) AS BIGINT) AS shift_ns FROM pairs GROUP BY ALL
), fits AS (
    SELECT who, comm, reference, skipped, shift_ns, bool_and(same) AS same,
           CAST(quantile_cont(abs(apart_ns - shift_ns), 0.9) AS BIGINT) AS within_ns,
           CAST(coalesce(quantile_cont(abs(step_ns), 0.75), 0) AS BIGINT) AS uneven_ns,
           avg(CASE WHEN step_ns IS NULL OR abs(step_ns) <= 50000 THEN 1.0 ELSE 0.0 END) AS fits,
           CAST(coalesce(arg_max(step_ns, abs(step_ns)), 0) AS BIGINT) AS jump_ns,
           arg_max(seq, abs(step_ns)) AS jump_seq, count(*) AS pairs
    FROM steps JOIN middles USING (who, comm, skipped)
    GROUP BY who, comm, reference, skipped, shift_ns
)
SELECT fits.*, shift_ns - (r.epoch_ns - m.epoch_ns) AS ahead_ns
FROM fits JOIN members m USING (who) JOIN members r ON r.who = fits.reference
WHERE same AND pairs >= 3 AND fits >= 0.9
  -- Clocks of the machines of one run differ by less than a second.
  AND coalesce(abs(shift_ns - (r.epoch_ns - m.epoch_ns)) < 1000000000, true);
