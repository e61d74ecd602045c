package redlockd

import "time"

// Instants are whole milliseconds of bootTime, or of the daemon's clock where that is said.

func nowMS() int64      { return int64(bootTime() / time.Millisecond) }
func nowMSAbove() int64 { return int64((bootTime() + time.Millisecond - 1) / time.Millisecond) }

const (
	// A Unix socket may lead to another machine (ssh forwards them), whose clock may by chance show nearly what
	// ours does: the less room for that chance, the better.
	sameWithinMS   = 20
	goesOnWithinMS = 1000 // what clocks that run unlike and a slow answer may come to
)

// A sample is what one HELLO told about the daemon's clock.
type sample struct {
	any  bool
	same bool  // the daemon's clock is ours
	sent int64 // ours, before HELLO was sent
	now  int64 // the daemon's, when it answered
}

// deadline turns until= into an instant of our clock, never later than the daemon means it: the daemon read its
// clock after sent. 0.1 % is for clocks that run unlike, 1 ms for what both cut off.
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

// take replaces the sample by a newer one and reports true, or keeps it. Of two samples of one clock both are right,
// and the later deadline is the better one. But where the older says that the daemon's now is still to come here, a
// clock has stood still, and only the newer counts.
func (s *sample) take(sent, now, received int64, local bool) bool {
	between := sent <= now && now <= received
	same := local && between && received-sent <= sameWithinMS
	expected := s.deadline(now)
	if s.any && s.same && !same && between {
		return false // a slow answer is no proof that the clock is another
	}
	if s.any && !s.same && !same && expected >= sent && expected <= received {
		return false
	}
	*s = sample{any: true, same: same, sent: sent, now: now}
	return true
}

// goesOn reports whether a HELLO on a new connection shows the clock that was there before, as far along as ours, or
// as that less what the daemon says it stood still since (grown).
func (s *sample) goesOn(sent, now, received, grown int64) bool {
	ours := sent - s.sent
	room := goesOnWithinMS + ours/1000 + received - sent
	ahead := now - s.now - ours
	within := func(n int64) bool { return n >= -room && n <= room }
	return s.any && (within(ahead) || within(ahead+grown))
}
