-- collectives: each rank's kernels of collectives, numbered within their communicator. Input: digests, members.
-- collective_groups: for each communicator the member to which the others are compared: the one with most collectives.
CREATE OR REPLACE TEMP TABLE collectives AS
SELECT who, comm, count AS seq, CAST(n AS INTEGER) AS n, begin_ns, end_ns, end_ns - begin_ns AS took_ns, ns AS worked_ns,
       ns2 * 10 <= end_ns - begin_ns AS alone, name
FROM digests JOIN members USING (trace, device)
WHERE kind = 'collective' AND copy = 1;
CREATE OR REPLACE TEMP TABLE aligned (who INTEGER, comm VARCHAR, reference INTEGER, skipped BIGINT, shift_ns BIGINT, within_ns BIGINT,
                                      fits DOUBLE, jump_ns BIGINT, jump_seq BIGINT, pairs BIGINT);
