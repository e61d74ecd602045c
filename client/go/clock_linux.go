package redlockd

import (
	"syscall"
	"time"
	"unsafe"
)

const clockBoottime = 7

// bootTime reads CLOCK_BOOTTIME, which goes on while the machine sleeps. Go's own monotonic clock stands still then.
func bootTime() time.Duration {
	var t syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&t)), 0)
	if errno != 0 {
		panic("redlockd: no CLOCK_BOOTTIME: " + errno.Error())
	}
	return time.Duration(t.Nano())
}
