/* Fences: a number with each grant, which only grows (Kleppmann), so that what the lock protects can refuse a holder
 * that was too slow. Included by redlock.pml.
 *
 * Fences are relative to the true wall clock, which is WALL: each tick lowers them all by TICK, and 0 is long ago. A
 * master that forgets its score is kept out for as long as all locks of before can live. By then the proposals, which
 * follow the wall clocks, must be above what was forgotten. So TTL * TICK, the time that passes meanwhile, must be more
 * than the error of the wall clocks (0 or 1), the limit of the lead, and one for each raise: the lead has a limit, but
 * raises have none. In redlockd the error and the lead together are less than max_ttl, and what is left of it counts in
 * microseconds, of which a raise takes one. */
#define WALL (TTL * TICK + 1)
#define answered(m, d) (LINK(m, d).voted && LINK(m, d).answered)
#define known(m, d) (LINK(m, d).voted && LINK(m, d).known)
#define larger(a, b) (a > b -> a : b)

/* A ZADD follows each SET. The proposal is the wall clock, which may be wrong by some, and the lead. (It is also above
 * the daemon's proposal before, which saves raises, and nothing depends on.) */
inline propose(d, error) {
    daemon[d].phase == FREE && attempts > 0;
    attempts--;
    daemon[d].proposal = WALL + error + daemon[d].lead;
    printf("step: %c sends SET and ZADD %d\n", name(d), daemon[d].proposal);
    begin(d);
    send(d, ZADD, may_vote(i, d))
}
inline proposes(d) { propose(d, 0) }
inline proposes_more(d) { propose(d, 1) }

inline grant_with(d, fence) {
    printf("step: %c tells its client the deadline and fence %d\n", name(d), fence);
    grant(d);
    MUST(fence > last, "violated: fences grow from grant to grant\n");
    last = fence
}

/* The proposal is the fence if a quorum granted, and a quorum of these had nothing as high. */
inline stands(d) {
    daemon[d].phase == ASKING && daemon[d].valid > 0 && count(voted, d) >= Q &&
        count(known, d) >= (PLANT == FENCE_BELOW_QUORUM -> 1 : Q);
    grant_with(d, daemon[d].proposal)
}

/* Else the daemon reads the scores of a quorum that granted, and sends one more than the highest to those. */
inline reads(d) {
    daemon[d].phase == ASKING && daemon[d].valid > 0 && count(answered, d) >= Q && count(known, d) < Q;
    printf("step: a quorum granted, but took no fence: %c reads the scores\n", name(d));
    daemon[d].phase = READING;
    send(d, READ, answered(i, d) && !known(i, d))
}

/* The lead follows the score, so that a slow wall clock needs few raises. The lead has a limit; the raise has none. */
inline raises(d) {
    daemon[d].phase == READING && daemon[d].valid > 0 && count(known, d) >= Q;
    daemon[d].phase = RAISING;
    daemon[d].high = larger(daemon[d].high, daemon[d].proposal);
    k = (daemon[d].high > WALL -> daemon[d].high - WALL : 0);
    daemon[d].lead = larger(daemon[d].lead, (k > LEAD -> LEAD : k));
    daemon[d].high++;
    printf("step: %c sends ZADD %d\n", name(d), daemon[d].high);
    for (i : 0 .. N - 1) { LINK(i, d).answered = 0 }
    send(d, RAISE, voted(i, d))
}

/* A quorum that answered has it or a higher one stored. */
inline raised(d) {
    daemon[d].phase == RAISING && daemon[d].valid > 0 && count(answered, d) >= Q;
    grant_with(d, daemon[d].high)
}

/* ZADD GT CH: the answer says whether it was stored. */
inline run_zadd(m, d) {
    LINK(m, d).answered = LINK(m, d).up && daemon[d].valid > 0 && daemon[d].phase <= READING;
    LINK(m, d).known = LINK(m, d).answered && daemon[d].proposal > master[m].score;
    if
    :: LINK(m, d).answered && !LINK(m, d).known && daemon[d].phase == READING ->
        LINK(m, d).sent = LINK(m, d).sent | READ
    :: else
    fi;
    master[m].score = larger(master[m].score, daemon[d].proposal);
    printf("step: m%d runs ZADD %d of %c: it has %d\n", m + 1, daemon[d].proposal, name(d), master[m].score)
}

/* A score below the proposal that was not stored: the master forgot it, and its vote is void. */
inline run_read(m, d) {
    printf("step: m%d tells %c the score %d\n", m + 1, name(d), master[m].score);
    if
    :: LINK(m, d).up && daemon[d].phase == READING && daemon[d].valid > 0 ->
        LINK(m, d).voted = LINK(m, d).voted && master[m].score >= daemon[d].proposal;
        LINK(m, d).known = 1;
        daemon[d].high = larger(daemon[d].high, master[m].score)
    :: else
    fi
}

inline run_raise(m, d) {
    LINK(m, d).answered = LINK(m, d).up && daemon[d].phase == RAISING && daemon[d].valid > 0;
    master[m].score = larger(master[m].score, daemon[d].high);
    printf("step: m%d runs ZADD %d of %c: it has %d\n", m + 1, daemon[d].high, name(d), master[m].score)
}
