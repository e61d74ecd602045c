package redlockd

import "time"

// A Logger gets a line for each connection that was made or lost and each lock that was resumed or lost. A *slog.Logger
// is one.
type Logger interface {
	Info(text string, args ...any) // args: keys, each with its value behind it
	Warn(text string, args ...any)
}

// Metrics counts, for whatever collects the counts of this program.
type Metrics interface {
	// Request is called when a request is over, by the goroutine that made it: verb is LOCK (its wait included), RESUME,
	// UNLOCK, EXTEND, CHECK, DATA, DOWNGRADE (which is a LOCK), WHO, SHOW or WATCH.
	Request(verb string, took time.Duration, err error)
	// Event is "connected", "disconnected", "resumed" (a lock, on a new connection) or "lost" (a lock).
	Event(event string)
}

// happened tells the hooks of an event, in order, and by a goroutine of its own: they may take their time, and call every method.
// The client's mutex is held.
func (c *Client) happened(event string, args ...any) {
	if c.config.Log == nil && c.config.Metrics == nil {
		return
	}
	c.toTell = append(c.toTell, func() {
		if metrics := c.config.Metrics; metrics != nil {
			metrics.Event(event)
		}
		if log := c.config.Log; log != nil && (event == "lost" || event == "disconnected") {
			log.Warn("redlockd: "+event, args...)
		} else if log != nil {
			log.Info("redlockd: "+event, args...)
		}
	})
	if !c.telling {
		c.telling = true
		go c.tellAll()
	}
}

func (c *Client) tellAll() {
	for {
		c.mu.Lock()
		told := c.toTell
		c.toTell, c.telling = nil, len(told) > 0
		c.mu.Unlock()
		if len(told) == 0 {
			return
		}
		for _, tell := range told {
			tell()
		}
	}
}
