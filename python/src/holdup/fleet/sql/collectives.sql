-- collectives: each rank's kernels of collectives, numbered within their communicator. Input: digested_collectives, members.
-- aligned: for each member and communicator which of its collectives belong to which of a reference, and the difference of clocks.
CREATE OR REPLACE TEMP TABLE collectives AS
SELECT who, comm, count AS seq, CAST(n AS INTEGER) AS n, begin_ns, end_ns, end_ns - begin_ns AS took_ns, ns AS worked_ns,
       ns2 * 10 <= end_ns - begin_ns AS alone, name
FROM digested_collectives JOIN members USING (trace, device)
WHERE kind = 'collective' AND copy = 1;
CREATE OR REPLACE TEMP TABLE aligned (
    who INTEGER, comm VARCHAR, reference INTEGER, skipped BIGINT, shift_ns BIGINT, within_ns BIGINT, fits DOUBLE,
    jump_ns BIGINT, jump_seq BIGINT, pairs BIGINT, ahead_ns BIGINT
);
