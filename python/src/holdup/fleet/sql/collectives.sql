-- collectives: each rank's kernels of collectives, numbered within their communicator. Input: digested_collectives, members.
-- aligned: for each member and communicator which of its collectives belong to which of a reference, and the difference of clocks.
CREATE OR REPLACE TEMP TABLE collectives AS
WITH waited AS (
    SELECT trace, device, n, ns AS counted_ns FROM digested_collectives WHERE kind = 'waited'
)
SELECT who, trace, comm, count AS seq, CAST(n AS INTEGER) AS n, begin_ns, end_ns, end_ns - begin_ns AS took_ns, ns AS worked_ns,
       ns2 * 10 <= end_ns - begin_ns AS alone, ns2 AS computed_ns, coalesce(counted_ns, 0) AS counted_ns,
       coalesce(end_ns > from_ns AND begin_ns < to_ns, true) AS steady, name
FROM digested_collectives JOIN members USING (trace, device) LEFT JOIN waited USING (trace, device, n)
WHERE kind = 'collective' AND copy = 1;
CREATE OR REPLACE TEMP TABLE aligned (
    who INTEGER, comm VARCHAR, reference INTEGER, skipped BIGINT, shift_ns BIGINT, within_ns BIGINT, fits DOUBLE,
    jump_ns BIGINT, jump_seq BIGINT, pairs BIGINT, ahead_ns BIGINT
);
