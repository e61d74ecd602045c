package redlockd

import "time"

// Instants are whole milliseconds of bootTime, or of the daemon's clock if the comment says so.

func nowMS() int64      { return int64(bootTime() / time.Millisecond) }
func nowMSAbove() int64 { return int64((bootTime() + time.Millisecond - 1) / time.Millisecond) }

const (
	// A Unix socket may lead to another machine (ssh forwards them), whose clock may by chance show nearly the same
	// as ours. The smaller this bound, the smaller that chance.
	sameWithinMS   = 20
	goesOnWithinMS = 1000 // how far two readings of one clock may be apart, beyond 0.1 % and the answer's time
)

// A sample is a reading of the daemon's clock, by one HELLO.
type sample struct {
	any  bool
	same bool  // the daemon's clock is ours
	sent int64 // ours, before HELLO was sent
	now  int64 // the daemon's, when it answered
}

// deadline turns until= into an instant of our clock, never later than the daemon means it, since the daemon read its
// clock after sent. It subtracts 0.1 % because the clocks may run at different speeds, and 1 ms because both are cut to
// whole milliseconds.
func (s *sample) deadline(until int64) int64 {
	left := until - s.now
	if s.same {
		return until
	}
	if left <= 0 {
		return s.sent - 1
	}
	return s.sent + left - (left+999)/1000 - 1
}

// proved is what an answer shows however long it was on its way.
func proved(now, received int64) *sample { return &sample{any: true, sent: received, now: now} }

// isRefuted reports whether by this sample the daemon's now, which was received already, is still to come: then a clock
// has stood still, and deadlines that were computed with this sample may be too late.
func (s *sample) isRefuted(now, received int64) bool { return s.any && s.deadline(now) > received }

// take replaces the sample by a newer sample, or keeps it. Two samples of one clock are both right,
// and the sample that gives the later deadline is better. But if by the older sample the daemon's now is still to come,
// a clock has stood still, and only the newer sample counts.
func (s *sample) take(sent, now, received int64, local bool) {
	between := sent <= now && now <= received
	same := local && between && received-sent <= sameWithinMS
	expected := s.deadline(now)
	if s.any && s.same && !same && between {
		return // a slow answer is no proof that the clock is another
	}
	if s.any && !s.same && !same && expected >= sent && expected <= received {
		return
	}
	*s = sample{any: true, same: same, sent: sent, now: now}
}

// goesOn reports whether a HELLO on a new connection shows the clock of this sample: it has gone on as far as ours has,
// or less far by grown, for which the daemon says it has stood still since.
func (s *sample) goesOn(sent, now, received, grown int64) bool {
	ours := sent - s.sent
	room := goesOnWithinMS + ours/1000 + received - sent
	ahead := now - s.now - ours
	within := func(n int64) bool { return n >= -room && n <= room }
	return s.any && (within(ahead) || within(ahead+grown))
}
