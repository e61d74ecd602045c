package redlockd

import (
	"context"
	"errors"
	"time"
)

// The kinds of errors, for errors.Is. The error itself is an *Error, which has redlockd's own words too.
var (
	// Refusals of redlockd. This package also uses some of them by itself, as ErrTimeout, ErrNotHeld and ErrBadArg.
	ErrBusy        = errors.New("another has the lock")
	ErrTimeout     = errors.New("another has the lock, and the wait is over")
	ErrNoQuorum    = errors.New("too few masters answered") // the outcome of Unlock, Extend or Check is open
	ErrNotHeld     = errors.New("the lock is not held")
	ErrCancelled   = errors.New("the wait was cancelled")
	ErrMode        = errors.New("the lock is held in another mode")
	ErrLimit       = errors.New("a limit of redlockd is reached")
	ErrDraining    = errors.New("redlockd is shutting down")
	ErrDenied      = errors.New("not allowed")
	ErrAuth        = errors.New("not authenticated")
	ErrUnsupported = errors.New("not in this redlockd")
	ErrBadArg      = errors.New("an argument is not allowed")
	// Errors that this package finds.
	ErrLost        = errors.New("the lock was lost")
	ErrUnreachable = errors.New("no connection to redlockd")
	ErrNoAnswer    = errors.New("redlockd did not answer in time") // a lock that is granted later is given back
	ErrProtocol    = errors.New("the other end is no redlockd of protocol 1")
	ErrClosed      = errors.New("the client is closed")
	ErrUsage       = errors.New("wrong use")
)

// Error is the type of every error of this package. (Do also returns errors of its caller's function.)
type Error struct {
	Err    error         // an Err value of this package
	Name   string        // the lock's name, "" if the error is about none
	Text   string        // redlockd's line, or a sentence of this package; may be ""
	Reason string        // of ErrLost: expired max gone released moved closed denied refused
	Retry  time.Duration // of ErrBusy and ErrNoQuorum: after how long asking again may help; 0: redlockd does not say
	also   error         // errors.Is finds it too: an error of the context or the network, ErrLost of an Unlock
}

func (e *Error) Error() string {
	text := "redlockd: "
	if e.Name != "" {
		text += e.Name + ": "
	}
	text += e.Err.Error()
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is find context.Canceled and context.DeadlineExceeded if the context ended the wait.
func (e *Error) Is(target error) bool { return e.also != nil && errors.Is(e.also, target) }

// As makes errors.As find what the network or TLS said.
func (e *Error) As(target any) bool { return e.also != nil && errors.As(e.also, target) }

var refusals = map[string]error{
	"BUSY": ErrBusy, "TIMEOUT": ErrTimeout, "NOQUORUM": ErrNoQuorum, "NOTHELD": ErrNotHeld, "CANCELLED": ErrCancelled,
	"MODE": ErrMode, "LIMIT": ErrLimit, "DRAINING": ErrDraining, "DENIED": ErrDenied, "AUTH": ErrAuth,
	"UNSUPPORTED": ErrUnsupported, "BADVERB": ErrUnsupported, // the verb of a later version
}

// refusal makes an error of an answer that begins with "-". A code of a later version counts as ErrBadArg.
func refusal(name string, a *answer) *Error {
	err := &Error{Err: refusals[a.code[1:]], Name: name, Text: a.text}
	if err.Err == nil {
		err.Err = ErrBadArg
	}
	if a.retry > 0 {
		err.Retry = time.Duration(a.retry) * time.Millisecond
	}
	return err
}

// contextError is the error for the end of a context: its deadline is a timeout, anything else a cancellation.
func contextError(ctx context.Context, name string) *Error {
	kind := ErrCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		kind = ErrTimeout
	}
	return &Error{Err: kind, Name: name, Text: ctx.Err().Error(), also: ctx.Err()}
}
