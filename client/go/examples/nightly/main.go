// A nightly job on ten hosts that runs once. In the crontab of all ten:
//
//	0 3 * * *  nightly report make-report --all
//
// "Once" is ensured by a lease for the job and this night, which nobody gives back: a host whose clock is late asks when
// the first host has finished. The job is not run again if it failed or its host died, since it may have been half done.
// A person has to look, and may then run: NIGHT=2030-01-31-again nightly report make-report --all
//
// "Not two at a time" is ensured by the lock under which the job runs, since last night's job may still be running. This
// lock is renewed for as long as the job takes, and when it is lost, the job is killed. (Programs that the job has started
// are not killed: `redlock run` kills them too, and also if it is killed itself. A job that is a command is better off with
// `redlock run`, see client/examples/nightly.sh; this program shows the way for a job that is Go code.)
//
// The later hosts wait for a moment instead of giving up at once: if the first host does not get the lease after all,
// because a master failed just then, another host does. The later hosts exit with 0 and print nothing.
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
		night = time.Now().Format("2006-01-02") // the date, so the crontab must not start it around midnight
	}
	keep, err := time.ParseDuration(os.Getenv("KEEP"))
	if err != nil {
		keep = time.Minute // longer than the clocks of the hosts are apart; at most redlockd's max_ttl
	}
	_, err = client.Lock(ctx, job+"/"+night, redlockd.Lease(), redlockd.TTL(keep), redlockd.Wait(2*time.Second))
	if errors.Is(err, redlockd.ErrTimeout) {
		return nil // another host has it
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
