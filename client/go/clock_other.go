//go:build !linux

package redlockd

import (
	"sync"
	"time"
)

// Where the machine sleeps, neither the monotonic clock counts it nor can it be asked. The wall clock shows it as a
// leap against the monotonic one, but so does a person who sets it: after a leap of more than a second this clock
// jumps so far that every lock counts as lost.
const (
	leap    = time.Second
	allOver = 31 * 24 * time.Hour
)

var sleepless struct {
	sync.Mutex
	start time.Time
	ahead time.Duration // of the wall clock to the monotonic one, when they were compared last
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
