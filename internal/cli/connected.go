package cli

import (
	"context"
	"net/http"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
)

// connected runs f with a client that starts no work of its own, and that finds the next owner when one leaves.
func (a *app) connected(ctx context.Context, f func(context.Context, *api.Client) error) (err error) {
	o, err := a.options("")
	if err != nil {
		return err
	}
	o.Passive = true
	t := &reopening{host: a.host, options: o}
	conn, err := t.current(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if conn := t.take(); conn != nil {
			err = firstOf(err, a.giveUp(context.WithoutCancel(ctx), conn, a.note))
		}
	}()
	c := *conn.API
	c.HTTP = &http.Client{Transport: t}
	return f(ctx, &c)
}

// giveUp closes the connection. When that takes its time, because others' work goes on in this process, it says so
// once; a signal leaves that work to the next owner.
func (a *app) giveUp(ctx context.Context, conn *Connection, note func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- conn.Close(ctx) }() // awaited below
	slow, asked := time.After(time.Second), a.asked
	var leave <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-slow:
			if leave == nil {
				note("another terminal's work goes on in this process; Ctrl-C leaves it to that terminal")
			}
		case <-asked:
			asked, leave = nil, time.After(leaveTime)
		case <-leave:
			cancel()
		}
	}
}
