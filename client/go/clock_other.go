//go:build !linux

package redlockd

import (
	"sync"
	"time"
)

// Here the monotonic clock does not surely count the time for which the machine sleeps. The wall clock then leaps
// against the monotonic clock, but it also leaps if a person sets it. After a leap of more than a second this clock
// jumps so far that every lock counts as lost.
const (
	leap    = time.Second
	allOver = 31 * 24 * time.Hour
)

var sleepless struct {
	sync.Mutex
	start time.Time
	ahead time.Duration // how far the wall clock was ahead of the monotonic clock when they were compared last
	added time.Duration
}

func init() { sleepless.start = time.Now() }

func bootTime() time.Duration {
	s := &sleepless
	s.Lock()
	defer s.Unlock()
	now := time.Now()
	passed := now.Sub(s.start)
	ahead := now.Round(0).Sub(s.start.Round(0)) - passed
	if ahead-s.ahead > leap {
		s.added += allOver
	}
	s.ahead = ahead
	return allOver + passed + s.added
}
