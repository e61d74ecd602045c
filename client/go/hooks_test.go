//go:build unix

package redlockd

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// heard is a Logger and Metrics that remembers. It calls back into the client, as a program may.
type heard struct {
	sync.Mutex
	lock  *Lock
	lines []string
}

func (h *heard) add(line string) {
	h.Lock()
	defer h.Unlock()
	if h.lock != nil {
		h.lock.Fence()
	}
	h.lines = append(h.lines, line)
}

func (h *heard) Info(text string, args ...any) { h.add(fmt.Sprintln("info", text, args)) }
func (h *heard) Warn(text string, args ...any) { h.add(fmt.Sprintln("warn", text, args)) }
func (h *heard) Request(verb string, _ time.Duration, err error) {
	h.add(fmt.Sprintln("request", verb, err))
}
func (h *heard) Event(event string) { h.add(fmt.Sprintln("event", event)) }

func (h *heard) has(words ...string) bool {
	h.Lock()
	defer h.Unlock()
	for _, line := range h.lines {
		found := 0
		for _, word := range words {
			if strings.Contains(line, word) {
				found++
			}
		}
		if found == len(words) {
			return true
		}
	}
	return false
}

func TestHooksHear(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := &heard{}
	c := must[*Client](t)(Open(Config{Address: w.unix, Log: h, Metrics: h}))
	defer c.Close()
	l := must[*Lock](t)(c.Lock(background, "heard", TTL(5*time.Second)))
	h.Lock()
	h.lock = l
	h.Unlock()
	w.do("kill")
	w.do("restart")
	for _, words := range [][]string{{"info", "connected"}, {"event connected"}, {"warn", "disconnected", "why"},
		{"info", "resumed", "heard", "fence"}, {"event resumed"}, {"request LOCK <nil>"}} {
		words := words
		eventually(t, strings.Join(words, " "), func() bool { return h.has(words...) })
	}
	must[*Lock](t)(w.open(w.unix).Attach("heard", l.Token())).Unlock(background)
	eventually(t, "the loss", func() bool { return h.has("warn", "lost", "heard", "released") && h.has("event lost") })
	c.TryLock(background, "heard", TTL(time.Millisecond))
	if !h.has("request LOCK", "not allowed") {
		t.Error(h.lines)
	}
}
