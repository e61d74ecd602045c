/* Planted bugs: mistakes that somebody could make, which the simulator must find to prove that it would find
 * them. The daemon's own sources have none of this. */
#ifndef SIM_MUTANT_H
#define SIM_MUTANT_H

#include <stdbool.h>

/* X(id, name on the command line, what is wrong). Bugs marked * are planted in the simulator's model of
 * masters and hosts. The others are planted in a copy of the coordinator: planted.patch adds a condition,
 * if (mutant(MUTANT_NO_KILL)) ..., or planted.c replaces a function. */
#define MUTANT_LIST(X)                                                                                      \
    X(QUORUM_MINUS_ONE, "quorum_minus_one", "a grant needs one vote less than a majority")                  \
    X(NO_VALIDITY, "no_validity", "a grant is told however little of its time is left")                     \
    X(FENCE_INCR_MAX, "fence_incr_max",                                                                     \
      "raise: one more than the scores of the granting masters, each for itself")                           \
    X(RAISE_FEW_SCORES, "raise_few_scores", "raise: the maximum of fewer than Q scores")                    \
    X(RAISE_FEW_ACKS, "raise_few_acks", "raise: done when fewer than Q masters answered")                   \
    X(RETRY_REUSES_PROPOSAL, "retry_reuses_proposal", "a retry counts the proposal of its first attempt")   \
    X(ZADD_ERROR_KEEPS_VOTE, "zadd_error_keeps_vote", "a master whose ZADD failed still counts")            \
    X(MONOTONIC_CLOCK, "monotonic_clock", "* the clock stands still while the host sleeps")                 \
    X(PLAIN_DEL, "plain_del", "* release deletes without comparing the token")                              \
    X(RELEASE_ONLY_GRANTED, "release_only_granted",                                                         \
      "a failed attempt is released only where it was granted")                                             \
    X(DELETE_AT_DEADLINE, "delete_at_deadline",                                                             \
      "a lease is deleted at its deadline, extended elsewhere or not")                                      \
    X(NO_KILL, "no_kill", "the old connection is not killed")                                               \
    X(KILL_ONCE, "kill_once", "a kill that was not acknowledged is not repeated")                           \
    X(NO_KILL_VOTES, "no_kill_votes", "no_kill: a master votes at once after a connection was lost")        \
    X(UNGUARDED_NO_KILL, "unguarded_no_kill", "restart_guard: off spares old connections, too")             \
    X(UNDO_FROM_T0, "undo_from_t0", "an undo entry's time counts from the attempt's start")                 \
    X(UNDO_GRANTED, "undo_granted", "a granted attempt has an undo entry")                                  \
    X(UNDO_BY_RECORD, "undo_by_record", "once a lease's record is gone, no master owes its release")        \
    X(EXTEND_NO_VALIDITY, "extend_no_validity", "an extend is told though its time is over")                \
    X(EXTEND_NO_COMPARE, "extend_no_compare", "* extend does not compare the token")                        \
    X(EXTEND_SHORTENS, "extend_shortens", "* extend sets the TTL also where it was longer")                 \
    X(EXTEND_CUTS_NOT, "extend_cuts_not", "EXTEND leaves a key that outlives max_ttl as it is")             \
    X(LONG_KEYS_STAY, "long_keys_stay", "whoever waits for a key that outlives max_ttl leaves it so")       \
    X(EXTEND_RESURRECTS, "extend_resurrects", "* extend sets a key that is gone")                           \
    X(MAX_FORGOTTEN, "max_forgotten", "a lock is extended after its max= ended it")                         \
    X(NO_RESTART_GUARD, "no_restart_guard", "a restarted master votes at once")                             \
    X(UPTIME_WITHOUT_MARGIN, "uptime_without_margin", "uptime is taken as exact")                           \
    X(QUARANTINED_VOTES, "quarantined_votes", "a master in quarantine votes in acquires")                   \
    X(QUARANTINED_FENCES, "quarantined_fences", "a master in quarantine counts for fences")                 \
    X(NO_LEAD_CAP, "no_lead_cap", "the lead of the hybrid clock grows without end")                         \
    X(DEAD_WAITER_NOT_SKIPPED, "dead_waiter_not_skipped", "a waiter that is gone keeps its place")          \
    X(LATE_REPLY_MATCHES, "late_reply_matches", "a late reply is taken for one to the present round")       \
    X(REASK_COUNTS_FIRST_ZADD, "reask_counts_first_zadd",                                                   \
      "a grant by re-asking counts the proposal of before")                                                 \
    X(HEAL_RELEASED, "heal_released", "a master is healed after the lock's release was sent")               \
    X(HEAL_ACKNOWLEDGED, "heal_acknowledged", "a master that had acknowledged the key is healed")           \
    X(HEAL_BY_PX, "heal_by_px", "* a heal's time counts from when it runs")                                 \
    X(UNCONFIRMED_EXTENDS, "unconfirmed_extends", "in quarantine an extended counts at once")               \
    X(RESUME_KEEPS_TOKEN, "resume_keeps_token", "RESUME extends under the old token")                       \
    X(NATIVE_PLAIN, "native_plain", "* a native release compares nothing")                                  \
    X(NATIVE_ACKNOWLEDGES, "native_acknowledges", "a refusal of a native release counts as done")           \
    X(NATIVE_DROPPED, "native_dropped", "a native release that was refused is not repeated by script")      \
    X(NATIVE_MOVE_OF_TWO, "native_move_of_two",                                                             \
      "a key that may have either of two tokens is moved natively")                                         \
    X(NATIVE_WAKES_NOBODY, "native_wakes_nobody", "a lock is given back natively though others wait")       \
    X(MOVE_NO_COMPARE, "move_no_compare", "* move does not compare the token")                              \
    X(RESUME_BELOW_QUORUM, "resume_below_quorum", "RESUME is granted where fewer than Q moved")             \
    X(RESUME_OLD_FENCE, "resume_old_fence", "RESUME takes no new fence")                                    \
    X(RESUME_NO_SET_BACK, "resume_no_set_back", "a RESUME that failed is not set back")                     \
    X(RESUME_SET_BACK_ANSWERED, "resume_set_back_answered",                                                 \
      "a RESUME that failed is set back only where an answer came")                                         \
    X(RESUME_RELEASES, "resume_releases", "a RESUME that failed is released instead of set back")           \
    X(REPEAT_NOT, "repeat_not", "RESUME wait= is answered -NOTHELD at once")                                \
    X(REPEAT_NOTHELD, "repeat_notheld", "-NOTHELD of a RESUME wait= is repeated beyond 100 ms")             \
    X(REPEAT_LATE, "repeat_late", "a RESUME is repeated when the time of its wait= is over")                \
    X(REPEAT_CANCELLED, "repeat_cancelled", "a RESUME that was cancelled goes on, and is answered")         \
    X(FROM_IGNORED, "from_ignored", "from= of a marker that another daemon wrote is ignored")               \
    X(ABSENT_MARKER_KNOWN, "absent_marker_known", "a master without a marker is taken for a known one")     \
    X(STALL_BLAMES_MASTERS, "stall_blames_masters",                                                         \
      "a stall of the daemon's own is taken for jumps of all masters' clocks")                              \
    X(FIRST_ANSWER_BLAMED, "first_answer_blamed", "a trial is decided by its first answer")                 \
    X(BASE_MOVED, "base_moved", "a reading that is ahead becomes the base of the next")                     \
    X(COMPARED_WITHIN_RUN, "compared_within_run", "clocks are compared within one run of a master only")    \
    X(QUARANTINE_SOONER, "quarantine_sooner",                                                               \
      "a quarantine ends sooner by as long as the daemon stood still")                                      \
    X(BEHIND_TWICE, "behind_twice", "a stall is counted twice")                                             \
    X(UNTIL_WITHOUT_BEHIND, "until_without_behind", "deadlines are told by the daemon's own time")          \
    X(WOKEN_SILENT, "woken_silent", "a waiter that is woken goes on sleeping")                              \
    X(PASS_FORGOTTEN, "pass_forgotten", "who is woken in vain does not pass it on")                         \
    X(PASS_BLIND, "pass_blind", "* PASS wakes the next though the key is there")                            \
    X(ENQUEUE_SILENT, "enqueue_silent", "* ENQUEUE does not tell the holder, and says it did")              \
    X(TOLD_IS_WOKEN, "told_is_woken", "who is told takes that for a wake, and does not remember it")        \
    X(FANOUT_COUNTS_HEAL, "fanout_counts_heal", "a heal of a master that was not asked counts as its vote") \
    X(SECRET_TOLD, "secret_told", "the first holder of a lease that is handed on is told its key's token")  \
    X(RESET_HANDS_ON, "reset_hands_on", "a reset hands the lock on to the next waiter")                     \
    X(HAND_LATE, "hand_late", "a lock is handed on beyond the deadline of its keys")                        \
    X(RESERVE_AT_ONCE, "reserve_at_once", "reserved fences are told before Q masters have stored them")     \
    X(RESERVE_MOVES_CLOCK, "reserve_moves_clock",                                                           \
      "reserves of thousands move the daemon's clock of fences, without a bound")                           \
    X(RELEASE_OF_ONE, "release_of_one", "once settling began, only the secret token is released")           \
    X(SETTLE_BLIND, "settle_blind", "* where the secret stands, the told token is not ours")                \
    X(HEAL_OF_SECRET, "heal_of_secret", "once settling began, a heal sets the secret token")                \
    X(SHARE_OVER, "share_over", "* a writer's SET passes readers")                                          \
    X(SHARE_PASSES, "share_passes", "* a reader's key is set though a writer has the name")                 \
    X(LEAVE_ALL, "leave_all", "* a reader's release removes the other readers")                             \
    X(EXTEND_ADDS, "extend_adds", "* extend adds a reader whose time is over")                              \
    X(SHARE_NO_TTL, "share_no_ttl", "* the key of readers has no TTL")                                      \
    X(SHARE_TTL_FIRST, "share_ttl_first", "* the key of readers ends with the first of them")               \
    X(MARK_STAYS, "mark_stays", "a mark stays behind its writer")                                           \
    X(MARK_UNSEEN, "mark_unseen", "* readers pass a writer's mark")                                         \
    X(LIST_FENCE_OF_ONE, "list_fence_of_one", "the fence of a list is above that of one of its names only") \
    X(LIST_SET_SOME, "list_set_some", "* a master votes for a list of which it set the free names")         \
    X(LIST_RELEASE_ONE, "list_release_one", "* the release of a list deletes its first key only")           \
    X(LIST_OVERTAKES, "list_overtakes", "a list asks although others stand before it")                      \
    X(LIST_UNCHANGED, "list_unchanged",                                                                     \
      "who waits for a list, or for a list's names, is not looked at again")                                \
    X(LIST_FREEZES, "list_freezes", "a list that waits keeps all of its names from others")                 \
    X(SLOT_BY_LOOK, "slot_by_look",                                                                         \
      "a slot that a LOOK showed free is granted before Q masters set its key")                             \
    X(SLOT_BEYOND, "slot_beyond", "a name has one slot more than it is to have")                            \
    X(SLOT_OF_ANOTHER, "slot_of_another", "a token is looked for at the slot beside its own")               \
    X(SLOT_TOLD_LOST, "slot_told_lost", "a holder of a slot forgets that others wait")                      \
    X(LOOK_FOR_EVER, "look_for_ever", "what a LOOK showed is believed for ever")                            \
    X(DOWN_TAKEN_BACK, "down_taken_back", "a downgrade that failed is taken back to exclusive")             \
    X(DOWN_BLIND, "down_blind", "* downgrade adds a reader although the key was not ours")                  \
    X(DOWN_NO_TTL, "down_no_ttl", "* the key of a downgraded lock has no TTL")                              \
    X(DOWN_KEEPS_TOKEN, "down_keeps_token", "a downgraded lock keeps its token, which is a writer's")       \
    X(DOWN_ONCE, "down_once", "renewals do not repeat a downgrade")                                         \
    X(JOIN_BEYOND, "join_beyond", "a reader that joins is told a deadline beyond that of the lease")        \
    X(JOIN_RELEASES, "join_releases",                                                                       \
      "the last reader's UNLOCK takes a lease from readers whose connections broke")                        \
    X(JOIN_FOR_EVER, "join_for_ever", "readers join without asking for as long as the lease lasts")         \
    X(KEPT_LOCKS_TTL, "kept_locks_ttl", "a name is kept for its lock's TTL, or for longer than was asked")  \
    X(KEPT_AT_ONCE, "kept_at_once", "a mark is extended before a majority has it")                          \
    X(KEPT_OLD_TOKEN, "kept_old_token", "the lock's own token is the mark, and UNLOCK of it deletes that")  \
    X(KEPT_HEALS_GONE, "kept_heals_gone", "a mark is set again where somebody released it")                 \
    X(KEPT_FORGOTTEN, "kept_forgotten", "a mark is not set again on masters that forgot it")                \
    X(SCORE_ADOPTED, "score_adopted", "a fence of one master that no clock explains is raised above")       \
    X(WALL_TRUSTED, "wall_trusted", "proposals follow the daemon's own clock, however far ahead it is")     \
    X(PROBE_ERROR_GOOD, "probe_error_good", "an error of the probe is taken for no doubt")                  \
    X(FRESHNESS_IGNORED, "freshness_ignored", "votes count however old the master's last probe is")         \
    X(NO_LETTER, "no_letter", "* nobody is told that a key of its own was deleted")                         \
    X(LETTER_IGNORED, "letter_ignored", "a daemon does not ask about a lock that was ended elsewhere")      \
    X(LETTER_HANDS_ON, "letter_hands_on", "a lock that was ended elsewhere is handed on all the same")      \
    X(LETTERS_UNBOUND, "letters_unbound", "a daemon asks about a lock as often as letters come")            \
    X(PEER_UNLIMITED, "peer_unlimited", "a peer may take all places of the masters")                        \
    X(PLACES_UNCOUNTED, "places_uncounted", "requests are put to masters that have no room")                \
    X(SET_IGNORED, "set_ignored", "the same number of other masters is taken for the same masters")         \
    X(DISAGREEMENT_EACH, "disagreement_each", "another N or max_ttl keeps only that master out")            \
    X(DISAGREEMENT_GRANTS, "disagreement_grants", "locks are granted while a few masters' markers differ")  \
    X(DISAGREEMENT_RENEWS, "disagreement_renews", "locks are renewed by masters whose markers differ")      \
    X(DISAGREEMENT_TTL, "disagreement_ttl", "... for longer than another's max_ttl")                        \
    X(BACK_IGNORED, "back_ignored", "back= of a marker is ignored")                                         \
    X(FROM_LOWERED, "from_lowered", "* a from= that lies too far ahead is lowered")                         \
    X(TRY_IGNORED, "try_ignored", "a master that lacks what locks need is used")                            \
    X(REQUESTS_CHEAP, "requests_cheap", "requests may take the places that are there for renewals")         \
    X(NO_RAISE, "no_raise", "a fence that masters refused is told all the same")                            \
    X(SLOT_GIVES_UP, "slot_gives_up", "-BUSY is said as soon as one slot is taken")                         \
    X(SLOTS_DIFFER, "slots_differ", "requests with another number of slots are taken as well")              \
    X(DATA_EARLY, "data_early", "a lock with data= is granted before a quorum has the data")                \
    X(DATA_STALE, "data_stale", "a resumed lock tells what an earlier lock told")                           \
    X(ADOPT_BLIND, "adopt_blind", "* RESUME makes its own what another token told")                         \
    X(WATCH_BACKWARDS, "watch_backwards", "watchers are told what one master says, whatever the fence")     \
    X(WATCH_FREE, "watch_free", "a name is free for watchers though too few masters said so")               \
    X(WATCH_MOVED, "watch_moved", "a name is free for watchers while its token is being moved")             \
    X(WATCH_ONE_WORD, "watch_one_word", "watchers are told what one master tells of its holder")            \
    X(WATCH_RESTS, "watch_rests", "a watched name is looked at only after news")                            \
    X(STEP_NOT_JOINT, "step_not_joint", "the new set votes at once, without the step between")              \
    X(STEP_BY_MAJORITY, "step_by_majority", "a majority is enough between two sets")                        \
    X(STEP_AT_ONCE, "step_at_once", "a daemon goes on as soon as a quorum shows the next step")             \
    X(STEP_WITHOUT_TTL, "step_without_ttl", "... or waits only for probes, and not for locks to end")       \
    X(STEP_LOWERED, "step_lowered", "* an earlier step is written over a later one")                        \
    X(OUTDATED_EXTENDS, "outdated_extends", "an outdated daemon goes on renewing")                          \
    X(OUTDATED_IGNORED, "outdated_ignored", "a step beyond the next one counts as well")                    \
    X(NEW_COUNTS_UNASKED, "new_counts_unasked", "a new master has a lock that was never set there")         \
    X(SETTLED_EARLY, "settled_early", "a step is called settled when it is begun")                          \
    X(BOUND_BY_SMALLER, "bound_by_smaller", "quarantines last for the smaller max_ttl")                     \
    X(BEGINS_AHEAD, "begins_ahead", "a daemon begins by its file, wherever the masters are")

enum mutant {
    MUTANT_NONE,
#define MUTANT_ENUM(id, name, text) MUTANT_##id,
    MUTANT_LIST(MUTANT_ENUM)
#undef MUTANT_ENUM
        MUTANT_COUNT
};

extern enum mutant mutant_active;
extern const bool mutants_linked; /* false: the program has the daemon's own coordinator, without bugs */
#define mutant(m) (mutant_active == (m))

#endif
