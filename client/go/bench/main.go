// Bench measures how many times a second so many tasks (64) lock and unlock, each a name of its own, over one connection.
//
//	bench [SECONDS [TASKS]]        at $REDLOCK_ADDRESS; prints "cycles N": pairs of lock and unlock a second
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	redlockd "redlockd.invalid/client/go"
)

func main() {
	flag.Parse()
	seconds := 2.0
	if flag.NArg() > 0 {
		var err error
		if seconds, err = strconv.ParseFloat(flag.Arg(0), 64); err != nil {
			log.Fatal(err)
		}
	}
	tasks := 64
	if flag.NArg() > 1 {
		var err error
		if tasks, err = strconv.Atoi(flag.Arg(1)); err != nil {
			log.Fatal(err)
		}
	}
	client, err := redlockd.Open(redlockd.Config{Client: "bench-go"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	var cycles atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for i := 0; i < tasks; i++ {
		all.Add(1)
		go func(name string) {
			defer all.Done()
			for time.Since(start).Seconds() < seconds {
				lock, err := client.Lock(ctx, name)
				if err == nil {
					err = lock.Unlock(ctx)
				}
				if err != nil {
					log.Fatal(err)
				}
				cycles.Add(1)
			}
		}(fmt.Sprintf("bench-%d", i))
	}
	all.Wait()
	fmt.Printf("cycles %.0f\n", float64(cycles.Load())/time.Since(start).Seconds())
}
