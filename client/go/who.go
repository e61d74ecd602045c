package redlockd

import (
	"context"
	"strings"
)

// A Row is one line of what redlockd tells: its words by their keys, as in row["host"]. Section 11 of proto/protocol.txt
// has the keys, and later versions of redlockd add some. Times are in milliseconds.
type Row map[string]string

// Who tells who has a lock and who waits for it, through whichever redlockd, and takes nothing: a row for each holder,
// then rows with the key "waiting". No rows: nobody has it.
func (c *Client) Who(ctx context.Context, name string) ([]Row, error) {
	if !isWord(name, nameBytes) {
		return nil, badName(name)
	}
	return c.rows(ctx, "WHO", name)
}

// Show returns the rows of SHOW: "LOCKS", "WAITERS", "CLIENTS", "NODES", "DAEMONS", "STATS", "CONFIG" or "VERSION".
func (c *Client) Show(ctx context.Context, what string) ([]Row, error) {
	if !isWord(what, wordBytes) {
		return nil, &Error{Err: ErrBadArg, Text: "SHOW takes one word, such as LOCKS"}
	}
	return c.rows(ctx, "SHOW", what)
}

func (c *Client) rows(ctx context.Context, verb, name string) ([]Row, error) {
	if ctx.Err() != nil {
		return nil, contextError(ctx, name)
	}
	k := newCall(verb, nil, name)
	c.mu.Lock()
	if err := c.ask(ctx, k, c.config.Timeout, 0); err != nil {
		return nil, err
	}
	return k.rows, nil
}

func rowOf(text string) Row {
	row := Row{}
	for _, word := range strings.Fields(text) {
		if key, value, pair := strings.Cut(word, "="); pair {
			row[key] = value
		}
	}
	return row
}
