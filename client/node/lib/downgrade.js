'use strict';
// LOCK mode=shared token=: a writer's lock becomes a reader's, and a program that was told so is never a writer again.
const { mono } = require('./clock.js');
const { Request } = require('./requests.js');
const line = require('./line.js');
const { BadArgumentError, ModeError, NotHeldError } = require('./errors.js');

const AGAIN_MS = 500;

/** From here on the lock is a reader's for the program, unless redlockd refuses this and nothing was asked before. */
async function downgrade(session, hold) {
  if (!hold.session || hold.slot !== undefined || hold.name.includes(',')) {
    throw new BadArgumentError(`${hold.name} cannot be downgraded: only a session lock of one name without slots can`);
  }
  if (hold.lost) throw hold.lost;
  if (hold.state !== 'held') throw new NotHeldError(`${hold.name} was given back`);
  if (hold.users > 1) throw new ModeError(`${hold.name} was entered ${hold.users} times: leave it until it is entered once`);
  return new Promise((resolve, reject) => {
    const settled = (error) => (error ? reject(error) : resolve());
    if (hold.shared) settled();
    else ask(session, hold, { giveUp: mono() + session.timeout, first: !hold.reader, internal: false, settled });
  });
}

function ask(session, hold, { giveUp, first, internal, settled }) {
  const request = new Request({
    name: hold.name,
    hold,
    expects: '+LOCKED',
    giveUp,
    abandoned: internal, // the program does not wait for it (any more)
    mustWait: () => hold.resuming || session.isLoose(hold) || isUnderWay(hold), // whose answer may be enough
    isDone: () => hold.shared || hold.state !== 'held', // with a reader's token, the line would enter the lock once more
    waits: true,
    lines: ({ repeats }) => line.line('LOCK', hold.name,
      { mode: 'shared', token: hold.token, wait: repeats ? Math.max(1, Math.ceil(session.timeout / 2)) : undefined }),
    again: ({ code }) => code === '-NOTHELD' && !request.abandoned && (hold.resuming || session.isLoose(hold)),
    onLost: () => request.abandoned && over(),
    overdue: (error) => { // it stays under way, since its answer has a new token
      request.abandoned = request.gaveUp = true;
      first = false;
      settled(error);
    },
    settled: (error, answer, connection) => {
      over();
      if (error && answer) refused(session, hold, error, first);
      else if (answer) granted(session, hold, answer.pairs, connection);
      else if (error && first && !request.times) hold.reader = false; // it was never sent
      if (request.abandoned) return;
      settled(error ?? (hold.state === 'held' ? undefined : hold.lost ?? new NotHeldError(`${hold.name} was given back`)));
    },
  });
  const over = () => (hold.downgrades = hold.downgrades.filter((one) => one !== request));
  hold.reader = true;
  hold.downgrades.push(request);
  session.ask(request);
}

function granted(session, hold, { token, fence, until }, connection) {
  if (hold.resuming) return; // by the token before; the answer to that will have another
  hold.token = token;
  hold.fence = fence;
  hold.shared = true;
  if (hold.bound) hold.bind(hold.bound);
  if (hold.state !== 'held') return;
  hold.tell(connection, until);
  session.watch(hold);
}

function refused(session, hold, error, first) {
  if (error.code === 'NOTHELD') {
    if (hold.state === 'held') session.lose(hold, 'gone');
  } else if (first && !['NOQUORUM', 'CANCELLED', 'DRAINING'].includes(error.code)) {
    hold.reader = false;
  } else { // too few masters know yet, or the program was told before that it is a reader
    setTimeout(() => again(session, hold), AGAIN_MS + Math.random() * AGAIN_MS).unref();
  }
}

/** Asks for what the program was told: too few masters know it, or redlockd has the lock as a writer's all the same. */
function again(session, hold) {
  const asked = hold.downgrades.some((request) => !request.connection);
  if (!hold.reader || hold.shared || hold.state !== 'held' || asked || isUnderWay(hold)) return;
  ask(session, hold, { giveUp: Infinity, first: false, internal: true, settled() {} });
}

/** Whether redlockd is asked now. Its answer has a new token, without which no other redlockd may know the lock. */
const isUnderWay = (hold) => hold.downgrades.some((request) => request.connection?.usable && !request.gaveUp);

module.exports = { downgrade, again, isUnderWay };
