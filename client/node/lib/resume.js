'use strict';
// RESUME: a lock goes over to a new connection, by its token, within the time that is known.
const { mono, bootCeil, bootAbout } = require('./clock.js');
const { Request } = require('./requests.js');
const { again } = require('./downgrade.js');
const line = require('./line.js');

const NOT_HELD_MS = 100; // other daemons learn of a token a moment later than its client
const AGAIN_MS = 20; // before RESUME is asked again, and AGAIN_JITTER_MS more at most
const AGAIN_JITTER_MS = 30;

class Resume extends Request {
  constructor(session, hold, waits) {
    super(session, hold.name, '+LOCKED', Infinity);
    this.hold = hold;
    this.waits = waits;
  }

  line(connection) {
    const { token, maxEnd, deadline, span, options: { ttl, note } } = this.hold;
    const wait = connection.repeats ? Math.max(1, Math.floor(deadline - bootAbout())) : undefined;
    if (maxEnd === Infinity) return line.line('RESUME', this.name, { token, ttl, wait, note });
    const max = Math.ceil(maxEnd - mono());
    return line.line('RESUME', this.name, { token, ttl: Math.min(ttl ?? span, max), wait, max, note });
  }

  outlives() {
    this.hold.resuming = null;
    return false;
  }

  settled(error, answer, connection) {
    const { session, hold } = this;
    hold.resuming = null;
    if (error) notResumed(session, hold, error, connection);
    else resumed(session, hold, answer.pairs, connection);
  }
}

function resume(session, link, hold, waits) {
  hold.resuming = new Resume(session, hold, waits);
  session.send(link, hold.resuming);
}

function resumed(session, hold, pairs, connection) {
  session.loose.delete(hold);
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
  if (connection?.repeats) connection.tell(`CANCEL ${resuming.tag}`);
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
  session.wake(hold.retryAt);
}

module.exports = { resume, cancelResume };
