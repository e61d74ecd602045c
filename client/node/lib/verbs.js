'use strict';
// What a program asks of redlockd: each a request, and what its answer means for the lock.
const { setMaxListeners } = require('node:events');
const { mono, bootCeil } = require('./clock.js');
const { Request } = require('./requests.js');
const { cancelResume } = require('./resume.js');
const line = require('./line.js');
const { CancelledError, LockTimeoutError, LostError, NoAnswerError, NotHeldError, UnsupportedError, refusal } = require('./errors.js');

const RELEASE_MS = 2000;
const NOT_KEPT = ['-BADARG', '-LIMIT', '-UNSUPPORTED']; // to UNLOCK keep=: nothing was done, and the lock is held still

const cancelled = (signal) => new CancelledError('the wait was aborted', { cause: signal.reason });

/** LOCK, or RESUME where there is a token. Resolves to the lock when it is granted. */
function take(session, hold, lock, signal, token) {
  if (signal?.aborted) throw cancelled(signal);
  const { name, options } = hold;
  const waitEnd = options.wait ? mono() + options.wait : 0;
  return new Promise((resolve, reject) => {
    const end = (error) => {
      signal?.removeEventListener('abort', abort);
      if (error) reject(error);
      else resolve(lock);
    };
    const request = new Request({
      name,
      expects: '+LOCKED',
      waits: waitEnd > 0,
      giveUp: mono() + (options.wait ?? 0) + session.timeout,
      lines: () => token
        ? line.line('RESUME', name, { token, ...options })
        : line.line('LOCK', name, { ...options, wait: waitEnd ? Math.max(0, waitEnd - mono()) || undefined : undefined }),
      again: (answer, connection) => {
        if (answer.code !== '-DRAINING' || request.abandoned || waitEnd <= mono()) return false;
        request.refusedOn = connection;
        session.drain(connection);
        return true;
      },
      onLost: () => request.abandoned && (request.settle(request.abandoned), true),
      overdue: (error) => request.abandon(error),
      settled: (error, answer, connection) => {
        if (!error && !request.abandoned) {
          hold.granted(connection, answer.pairs);
          session.watch(hold);
          return end();
        }
        const waited = error?.code === 'BUSY' && waitEnd > 0;
        const why = request.abandoned ?? (waited ? new LockTimeoutError(error.message) : error);
        if (error) return end(why);
        session.giveBack(name, answer.pairs.token, () => end(why));
      },
    });
    request.abandon = (error) => abandon(session, request, error, end);
    const abort = () => cancel(session, request, cancelled(signal));
    if (signal) setMaxListeners(0, signal); // a signal that ends a whole program has many waits
    signal?.addEventListener('abort', abort);
    session.ask(request);
  });
}

/** The program waits on until it is sure that nothing is left behind, for RELEASE_MS at most. */
function cancel(session, request, error) {
  if (!request.connection) {
    session.drop(request);
    return request.settle(error);
  }
  request.abandoned = error;
  request.giveUp = Math.min(request.giveUp, mono() + RELEASE_MS);
  request.connection.ask(`CANCEL ${request.tag}`, {});
  session.wake(RELEASE_MS);
}

/** The program waits no more; a lock that is granted later is given back. */
function abandon(session, request, error, end) {
  if (!request.abandoned && request.connection) cancel(session, request, error);
  else if (!request.connection) {
    session.drop(request);
    request.settle(error);
  }
  request.giveUp = Infinity;
  end(request.abandoned ?? error);
}

/** UNLOCK; keep: for how many ms nobody gets the name. Where redlockd does not keep it, the lock is given back. */
function release(session, hold, keep) {
  if (hold.state === 'over') return undefined;
  return (hold.releasing ??= unlocked(session, hold, keep));
}

function unlocked(session, hold, keep) {
  session.forget(hold);
  cancelResume(hold);
  hold.end('giving');
  return new Promise((resolve, reject) => {
    let notKept; // why the name is not kept, and the lock only given back
    const request = new Request({
      name: hold.name,
      expects: keep ? '+KEPT' : '+UNLOCKED',
      gives: true,
      giveUp: mono() + (keep ? session.timeout : RELEASE_MS),
      mustWait: () => hold.resuming, // its token is about to change
      lines: ({ keeps }) => {
        if (keep && !keeps) notKept ??= new UnsupportedError('this redlockd is too old to keep a name: the lock is given back');
        if (notKept) request.expects = '+UNLOCKED';
        return line.line('UNLOCK', hold.name, { token: hold.token, keep: notKept ? undefined : keep });
      },
      again: (answer) => {
        if (!keep || notKept || !NOT_KEPT.includes(answer.code)) return false;
        notKept = refusal(answer);
        return true;
      },
      settled: (error) => {
        let why = notKept ?? error;
        if (why?.code === 'NOTHELD' && request.times > 1) { // the first UNLOCK may have given it back
          why = new NoAnswerError(`the connection ended before the answer: the lock is free${keep ? ', or the name is kept' : ' now'}`);
        } else if (why?.code === 'NOTHELD' && hold.fence > 0) {
          why = new LostError(hold.name, 'gone', { cause: error });
        }
        hold.state = 'over';
        hold.bind(null);
        hold.tells = undefined;
        session.retire();
        if (why) reject(why);
        else resolve();
      },
    });
    session.ask(request);
  });
}

async function extend(session, hold, ttl) {
  const wanted = line.options({ ttl }, ['ttl']).ttl ?? hold.options.ttl;
  await askAbout(session, hold, '+EXTENDED', () => line.line('EXTEND', hold.name, { token: hold.token, ttl: wanted }));
  hold.options.ttl = wanted;
}

async function check(session, hold) {
  await askAbout(session, hold, '+HELD', () => line.line('CHECK', hold.name, { token: hold.token }));
}

async function setData(session, hold, data) {
  line.option('data', data);
  await askAbout(session, hold, '+DATA', () => line.line('DATA', hold.name, { data }));
}

function askAbout(session, hold, expects, lines) {
  if (hold.lost) throw hold.lost;
  if (hold.state !== 'held') throw new NotHeldError(`${hold.name} was given back`);
  return new Promise((resolve, reject) => {
    session.ask(new Request({
      name: hold.name, hold, expects, lines, giveUp: mono() + session.timeout,
      mustWait: () => hold.resuming || session.isLoose(hold),
      // Where the lock has moved to another connection meanwhile, -NOTHELD is about the token of before.
      again: (answer, connection) => answer.code === '-NOTHELD' && hold.state === 'held' && hold.bound && hold.bound !== connection,
      settled: (error, answer, connection) => {
        if (error?.code === 'NOTHELD' && hold.state === 'held') session.lose(hold, 'gone');
        if (error) return reject(error);
        // An answer that comes too late proves nothing of the time in between; of a session lock redlockd knows better.
        if (!hold.session && hold.state === 'held' && hold.isOver(bootCeil())) session.lose(hold, 'expired');
        if (hold.state !== 'held') return reject(hold.lost ?? new NotHeldError(`${hold.name} was given back`));
        if (answer.pairs.until !== undefined) {
          hold.tell(connection, answer.pairs.until);
          session.watch(hold);
        }
        resolve();
      },
    }));
  });
}

/** The rows of WHO or SHOW. */
function rows(session, text) {
  return new Promise((resolve, reject) => {
    let found;
    session.ask(new Request({
      expects: '+END', giveUp: mono() + session.timeout, lines: () => text,
      begins: () => (found = []),
      row: (pairs) => found.push(pairs),
      settled: (error) => (error ? reject(error) : resolve(found)),
    }));
  });
}

module.exports = { take, release, extend, check, setData, rows };
