/* Functions that the files of master.h share: master.c moves a master through its states,
 * master_handshake.c asks which server it is, master_memory.c decides how long it is kept out after it may
 * have forgotten locks, master_agree.c whether the daemons agree about the masters, and master_undo.c sends the releases
 * that it owes. Two more files call none of these five: master_group.c answers questions about the group's key, and master_doubt.c collects and weighs the
 * evidence that a master may have forgotten locks. */
#ifndef REDLOCKD_MASTER_PRIVATE_H
#define REDLOCKD_MASTER_PRIVATE_H

#include "daemon/coordinator/master/master.h"

/* ---- master.c ---- */

/* Moves the master to another state, and to or from the sets of voters, extenders and releasers. */
void master_move(struct coordinator *c, struct master *m, enum master_state to, enum master_why why);
/* Changes the reason for the present state. */
void master_say_why(struct master *m, enum master_why why);
/* Takes the master out of use. The connection stays, and the handshake is repeated after a pause. */
void master_exclude(struct coordinator *c, struct master *m, enum master_why why);
/* Sets the master's deadline item to the next thing that is due. */
void master_rearm(struct coordinator *c, struct master *m);
/* Sends a command to this master, and starts the time-out of the handshake anew. */
void master_ask(struct coordinator *c, struct master *m, const struct command *command);
/* Watches the connection: until every command that was sent so far is answered, a long silence closes it. */
void master_watch(struct coordinator *c, struct master *m);
/* The handshake is over: sends the releases that the master owes, before any lock command. */
void master_begin_service(struct coordinator *c, struct master *m);
/* The owed releases are answered: the master votes, or is kept in quarantine. */
void master_enter_service(struct coordinator *c, struct master *m);
/* Ends the slowness of a master that has answered all that was overdue: it is in service again, unless its last
 * probe is old. Then it is probed at once. */
void master_catch_up(struct coordinator *c, struct master *m);

/* This daemon stood still for stall_ms: moves the master's time-outs by as much. */
void master_stood_still(struct coordinator *c, struct master *m, int64_t stall_ms);

/* Whether this master does without CLIENT ID and CLIENT KILL (no_kill). */
static inline bool master_is_unkillable(const struct coordinator *c, const struct master *m)
{
    return c->config.no_kill & masters_bit(m->index);
}

/* The run that answers on the present connection. Until INFO is answered, that is taken to be the run before;
 * if it is another, the handshake finds out. */
static inline const char *master_run(const struct master *m)
{
    return m->handshake.has_info ? m->handshake.info.run_id : m->run_id;
}

/* ---- master_handshake.c ---- */

/* Asks the questions of the handshake, on a new connection, or again after the master was refused. */
void handshake_begin(struct coordinator *c, struct master *m);
/* Handles the answer to one of the questions; the last answer decides. */
void handshake_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote);
/* The command that a master lacks, or refuses, if it answers this question with an error. */
enum lacking handshake_lacking(enum command_verb verb);
/* Asks a master in service once a minute, beside the probe, whether its maxmemory-policy evicts locks. */
void policy_ask(struct coordinator *c, struct master *m);
void policy_told(struct master *m, const struct vote *vote);
/* The reason to refuse a master that answered with this error. */
enum master_why why_of_error(enum vote_error error);

/* ---- master_try.c ---- */

/* Tries whether the commands work there that scripts for locks call. */
void try_ask(struct coordinator *c, struct master *m);
/* Notes the answer, and returns the reason to refuse the master; WHY_NONE: there is none, or it is not known yet. */
enum master_why try_told(struct master *m, const struct vote *vote);

/* ---- master_group.c ---- */

/* The TTL of the group's key, in ms, which every probe renews. */
int64_t master_group_px_ms(const struct coordinator *c);
/* This daemon's id for other daemons, as it stands in a key's by=. */
void master_group_id(const struct token *self, char id[GROUP_WORD]);
/* The reason that a key's why= gives. If the word is empty or of a later version, returns `otherwise`. */
enum master_why master_group_why(const char *word, enum master_why otherwise);
/* The command that writes the group's key with what is known of this master: GROUP_NEW writes only an
 * absent key, GROUP_SET only a present one. */
struct command master_group_command(const struct coordinator *c, const struct master *m,
                                    enum command_verb verb);
/* Whether the key that was read has another N, max_ttl or set than this daemon, or is unreadable. */
bool master_group_is_strange(const struct coordinator *c, const struct vote *vote);
/* Whether this daemon may write a group's key where there is none: every master was heard, or its first
 * handshake ended. */
bool master_group_may_write(const struct coordinator *c);

/* ---- master_agree.c ---- */

/* Writes the group's key with what is known of this master: GROUP_NEW writes only an absent key, GROUP_SET only a
 * present one. */
void agree_write(struct coordinator *c, struct master *m, enum command_verb verb);
/* What a master's key says of the agreement. */
enum agreed {
    AGREED_NOT,  /* it differs, or another master's does: this master was taken out of use */
    AGREED_HELD, /* another master's differs: this one may only renew what is held */
    AGREED,
};
enum agreed agree_judge(struct coordinator *c, struct master *m, const struct vote *vote);
/* Whether a master differs, so that no lock may be granted. */
static inline bool agree_holds(const struct coordinator *c)
{
    return c->differing != 0;
}
/* The masters that may grant. */
static inline masters_t agree_voters(const struct coordinator *c)
{
    return agree_holds(c) ? 0 : c->renewers;
}
/* Whether the key does not say which set of masters it belongs to. */
bool agree_is_unnamed(const struct coordinator *c, const struct master *m, const struct vote *vote);
/* Whether no key is written, or about to be, that was not read back. */
bool agree_is_settled(const struct coordinator *c);
/* Reads the key again, to which this daemon has just added its set: it is judged once more. */
void agree_read_back(struct coordinator *c, struct master *m);

/* ---- master_doubt.c ---- */

/* Whether the server that the handshake found is the run that was known before. */
bool doubt_is_same_run(const struct master *m);
/* A number that each connection to a server makes larger within one run: the client id, or with no_kill how
 * many connections the server has had. */
uint64_t doubt_serial(const struct coordinator *c, const struct master *m);
/* The reason to give for a doubt of a server that was a replica, or whose age is all that is known. */
enum master_why doubt_of_run(const struct coordinator *c, const struct master *m);
/* Whether the key looks as if a daemon that did not know of a loss of memory has written it since. */
bool doubt_is_papered_over(const struct coordinator *c, const struct master *m, const struct group *group);
/* Whether the group is older than the key there, so that the key may have been lost before it was written. */
bool doubt_is_young(const struct coordinator *c, const struct master *m);
/* Remembers when the master was first seen in another run, or with its key gone or strange. */
void doubt_note_amiss(const struct coordinator *c, struct master *m, const struct vote *vote);
/* Notes whether the key is absent here although another master has it. Returns true for the first time, when
 * the master must be asked again before it is judged. */
bool doubt_note_absence(const struct coordinator *c, struct master *m, const struct vote *vote);
/* Why the master's memory is doubted after a handshake that read the group's key; WHY_NONE if it is not. */
enum master_why doubt_find(const struct coordinator *c, const struct master *m, const struct vote *vote);

/* ---- master_memory.c ---- */

/* Judges the master by the group's key that its handshake read: refuses it, or decides when it may vote. */
void memory_judge(struct coordinator *c, struct master *m, const struct vote *group);
/* Handles the reply to GROUP_NEW. */
void memory_told_new(struct coordinator *c, struct master *m, const struct vote *vote);
/* Continues the judgement of a master that waited for master_group_may_write(). */
void memory_go_on(struct coordinator *c, struct master *m);
/* A trial found that this master's clock jumped forward: its keys may have ended early. */
void memory_clock_jumped(struct coordinator *c, struct master *m);
/* A trial found that this master's clock is so far ahead, by a jump or by a stall of this host. */
void memory_clock_gained(struct coordinator *c, struct master *m, int64_t gained_ms);

/* Sends the probe: TIME and the group's key, once a second on a connection in service. */
void probe_send(struct coordinator *c, struct master *m);
/* Handles the answer to the probe's question about the group's key. */
void probe_told(struct coordinator *c, struct master *m, const struct vote *vote);

/* ---- master_undo.c ---- */

enum { UNDO_IN_FLIGHT = 128 /* a pass pauses while so many commands have no reply */ };

/* Begins a pass over the releases that this master owes. */
void undo_begin(struct coordinator *c, struct master *m);
/* Sends a few of them. */
void undo_step(struct coordinator *c, struct master *m);
/* Ends the pass when its last release was sent. A pass on a new connection ends only when every release of it
 * is answered: a master that hangs in it must not get lock commands. */
void undo_look(struct coordinator *c, struct master *m);

#endif
