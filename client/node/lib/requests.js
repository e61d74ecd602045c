'use strict';
// A request: what it asks, and what its answer means. The Session asks it when there is a connection, asks it again on the
// next connection, and gives it up in time.
const { mono } = require('./clock.js');

class Request {
  connection = null; // the Connection on which it is under way
  tag = undefined;
  times = 0; // how often it was sent
  over = false;
  waits = 0; // 1: redlockd may let it wait
  gives = false; // it gives a lock back, also when the client is closed
  refusedOn = null; // the Connection that has refused it, since it is draining
  hold = undefined; // of which lock
  resolve = undefined; // of the program's promise, if it has one
  reject = undefined;

  /** name: that of the answer, if it has one. expects: the code of success. patience: in ms. */
  constructor(session, name, expects, patience) {
    this.session = session;
    this.name = name;
    this.expects = expects;
    this.giveUp = mono() + patience;
  }

  // Each kind of request has a line(connection), which is made when it is sent, with the rest of its wait and the token of
  // that moment. It may have
  //    mustWait                    it is not to be sent yet
  //    isNeedless                  nothing is to be sent any more
  //    again(answer, connection)   whether this refusal is no outcome yet, and it is asked again
  //    abandon(error)              the client is closed
  //    row(pairs)                  for each row that comes before the answer

  /** again() of what another redlockd may do. */
  elsewhere(answer, connection) {
    if (answer.code !== '-DRAINING') return false;
    this.refusedOn = connection;
    this.session.drain(connection);
    return true;
  }

  /** Returns whether it is asked again where its connection has ended. */
  outlives() {
    return true;
  }

  /** Nobody has answered in time. */
  overdue(error) {
    this.session.drop(this);
    this.settle(error);
  }

  /** Is called once, at the moment of the answer. */
  settled(error, _answer, _connection) {
    if (error) this.reject?.(error);
    else this.resolve?.();
  }

  done(answer) {
    this.session.answered(this, answer);
  }

  lost() {
    this.connection = null;
    return this.outlives();
  }

  settle(error, answer, connection) {
    if (this.over) return;
    this.over = true;
    this.settled(error, answer, connection);
    // The tables that a Map or Set has outgrown hang together, with all that was in them: until the whole heap is
    // collected, they keep alive what is over, and that is to keep nothing else alive.
    this.resolve = this.reject = this.hold = undefined;
  }
}

module.exports = { Request };
