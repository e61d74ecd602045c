// A nightly job on ten hosts that runs once. In the crontab of all ten:
//
//	0 3 * * *  nightly report make-report --all
//
// "Once" is a lease for the job and this night, which nobody gives back: the host whose clock is late asks when the
// first one has finished. Nor is the job begun again when it failed or its host died: it may have been half done, and
// that is for a person to see, and to say: NIGHT=2030-01-31-again nightly report make-report --all
//
// "Not two at a time" is the lock under which it runs: last night's may still be at it. It is renewed for as long as
// the job takes, and when it is lost, the job is killed. (What the job has started is not: `redlock run` does that
// too, and also when this program is killed. A job that is a command is better off with it, see
// client/examples/nightly.sh; this one is for a job that is Go code.)
//
// The ones that are later wait for a moment instead of leaving at once: should the first one not get it after all,
// since just then a master failed, another one does. They end with 0 and without a word.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"time"

	redlockd "redlockd.invalid/client/go"
)

func run(ctx context.Context, client *redlockd.Client, job string, command []string) error {
	night := os.Getenv("NIGHT")
	if night == "" {
		night = time.Now().Format("2006-01-02") // so not around midnight
	}
	keep, err := time.ParseDuration(os.Getenv("KEEP"))
	if err != nil {
		keep = time.Minute // longer than the clocks of the hosts are apart; at most redlockd's max_ttl
	}
	_, err = client.Lock(ctx, job+"/"+night, redlockd.Lease(), redlockd.TTL(keep), redlockd.Wait(2*time.Second))
	if errors.Is(err, redlockd.ErrTimeout) {
		return nil // somebody else has it
	}
	if err != nil {
		return err // too few masters, no redlockd: cron mails it
	}
	return client.Do(ctx, job, func(ctx context.Context, _ *redlockd.Lock) error {
		c := exec.CommandContext(ctx, command[0], command[1:]...)
		c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
		return c.Run()
	}, redlockd.Wait(12*time.Hour))
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: nightly JOB COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	client, err := redlockd.Open(redlockd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	err = run(context.Background(), client, os.Args[1], os.Args[2:])
	client.Close()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		log.Fatal("nightly: ", err)
	}
}
