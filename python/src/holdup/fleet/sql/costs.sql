-- costs: what each cause and place cost the run: the time in which GPUs had nothing to do because of it, and in which other GPUs waited at
-- collectives for a rank that it made late, unless their accounts have that. Input: causes, late_causes.
CREATE OR REPLACE TEMP VIEW costs AS
WITH own AS (
    SELECT cause, place, call, ns, gpus, most_rank FROM causes WHERE cause <> 'busy'
), waits AS (
    SELECT cause, place, call, sum(hidden_ns) AS waited_ns, arg_max(rank, hidden_ns) AS rank FROM late_causes GROUP BY ALL
)
SELECT coalesce(own.cause, waits.cause) AS cause, coalesce(own.place, waits.place) AS place, coalesce(own.call, waits.call) AS call,
       coalesce(ns, 0) AS own_ns, coalesce(waited_ns, 0) AS waited_ns, coalesce(gpus, 0) AS gpus,
       CASE WHEN coalesce(waited_ns, 0) > coalesce(ns, 0) THEN rank ELSE most_rank END AS most_rank
FROM own FULL JOIN waits ON own.cause = waits.cause AND own.place IS NOT DISTINCT FROM waits.place
                        AND own.call IS NOT DISTINCT FROM waits.call
;
