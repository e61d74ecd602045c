// Package redlockd takes locks of redlockd, a Redlock lock server that several machines share.
//
//	client, err := redlockd.Open(redlockd.Config{})
//	...
//	err = client.Do(ctx, "report", func(ctx context.Context, lock *redlockd.Lock) error {
//		return write(ctx, lock.Fence())
//	})
//
// The daemon does the work: it asks the Redis masters, renews the lock while this program is connected, and gives it
// back when the program ends, however it ends. A Client holds one connection for all goroutines. When the connection
// breaks or redlockd is restarted, the Client connects again and resumes each lock by its token without anybody in
// between; a lock that cannot be resumed in time is lost, and is never taken anew on the quiet.
//
// A lock with a time limit needs three things of its user. Stop when Lock.Context ends. Look at Lock.Valid before each
// step that must not be done twice: a program may be paused, and wake up late. And hand Lock.Fence to what the lock
// protects, if that can refuse a lower number: only the fence is safe even if the pause comes after the last look.
//
// Durations are rounded up to milliseconds. Every error of this package is an *Error; errors.Is tells the kinds apart.
package redlockd
