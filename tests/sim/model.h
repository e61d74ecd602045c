/* A real redis-server beside the model of one: both get the same commands, and their votes are
 * compared. */
#ifndef SIM_MODEL_H
#define SIM_MODEL_H

#include <stdarg.h>
#include <unistd.h>

#include "proto/resp.h"
#include "tests/sim/sim.h"
#include "tests/unit/server.h"

enum {
    NAMES = 3,
    NEAR_MS = 5 /* the largest error of a time that is told, beside the duration of the command */,
    LINE = 256
};

struct model {
    struct server server;
    int fd;
    int ear; /* subscribes as the daemons of the tokens 1 and 2 */
    struct resp_reader *reader;
};

extern struct model model;

/* The server's own clock. */
int64_t now_ms(void);
void nap(void);

/* ---- asking the server ---- */

void model_connect(void);
void model_disconnect(void);
/* Sends an inline command, as nc would. */
const struct resp_reply *ask_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void scripts_load(void);
void model_listen(void);
/* The PUBLISH of the model: what model_listen() hears on the server. */
bool model_made(uint32_t tok);  /* for store_made */
bool model_marks(uint32_t tok); /* for store_marks */
unsigned model_publish(void *arg, uint32_t id, char what, unsigned name, unsigned slot);
/* The native commands: what each does, the question whether a server knows it, and the answer of this one. */
struct model_native {
    enum command_verb verb, question, native;
};
extern const struct model_native model_natives[NATIVES];
bool model_knows(struct resp_format *format, unsigned native);
/* Fills in the daemons that made the tokens of a command. */
void model_ids(struct store_command *command);
/* Fills in the buckets of a command for a list. */
void model_buckets(struct store_command *command);
void ask(struct resp_format *format, const struct store_command *what, struct vote *vote);
void must_be_same(const struct store_command *command, const struct vote *real, const struct vote *modelled,
                  int64_t off_ms, const char *where);

#endif
