package redlockd

import (
	"context"
	"errors"
	"time"
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
