'use strict';
// RESUME: a lock goes over to a new connection, by its token, within the time that is known.
const { mono, bootCeil, bootAbout } = require('./clock.js');
const { Request } = require('./requests.js');
const { again } = require('./downgrade.js');
const line = require('./line.js');

const NOT_HELD_MS = 100; // other daemons learn of a token a moment later than its client
const AGAIN_MS = 20; // before RESUME is asked again, and AGAIN_JITTER_MS more at most
const AGAIN_JITTER_MS = 30;

function resume(session, link, hold) {
  const { note } = hold.options;
  hold.resuming = new Request({
    name: hold.name,
    expects: '+LOCKED',
    giveUp: Infinity,
    waits: link.repeats,
    lines: () => {
      const wait = link.repeats ? Math.max(1, Math.floor(hold.deadline - bootAbout())) : undefined;
      const max = hold.maxEnd === Infinity ? undefined : Math.ceil(hold.maxEnd - mono());
      const ttl = max === undefined ? hold.options.ttl : Math.min(hold.options.ttl ?? hold.span, max);
      return line.line('RESUME', hold.name, { token: hold.token, ttl, wait, max, note });
    },
    onLost: () => {
      hold.resuming = null;
      return true;
    },
    settled: (error, answer, connection) => {
      hold.resuming = null;
      if (error) notResumed(session, hold, error, connection);
      else resumed(session, hold, answer.pairs, connection);
    },
  });
  session.send(link, hold.resuming);
}

function resumed(session, hold, pairs, connection) {
  session.settle(hold);
  if (hold.state === 'held' && hold.isOver(bootCeil())) session.lose(hold, 'expired'); // too late: another may have had it
  if (hold.state === 'giving') {
    hold.token = pairs.token;
    hold.bind(connection);
  } else if (hold.state === 'held') {
    hold.notHeldSince = 0;
    hold.granted(connection, pairs);
    session.watch(hold);
    again(session, hold);
    session.log(`${hold.name} is resumed, with fence ${hold.fence}`);
    hold.tells('resumed');
  } else {
    session.giveBack(hold.name, pairs.token);
  }
  session.retire();
}

/** The lock is given back while redlockd repeats its RESUME. */
function cancelResume({ resuming }) {
  const connection = resuming?.connection;
  if (connection?.repeats) connection.ask(`CANCEL ${resuming.tag}`, {});
}

function notResumed(session, hold, error, connection) {
  if (hold.state !== 'held') return;
  hold.retryAt = mono() + AGAIN_MS + Math.random() * AGAIN_JITTER_MS;
  if (error.code === 'DRAINING') {
    hold.refusedOn = connection;
    session.drain(connection);
  } else if (error.code === 'NOTHELD') {
    hold.notHeldSince ||= mono();
    if (connection.repeats || mono() - hold.notHeldSince >= NOT_HELD_MS) return session.lose(hold, 'gone');
  } else if (error.code !== 'NOQUORUM' && error.code !== 'LIMIT') {
    return session.lose(hold, 'refused');
  }
  session.wake(hold.retryAt - mono());
}

module.exports = { resume, cancelResume };
