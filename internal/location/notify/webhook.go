package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cairn-dev/cairn/internal/location/hook"
	"github.com/cairn-dev/cairn/internal/session"
)

const (
	maxAttempts = 3
	firstPause  = time.Second      // before the second attempt, and twice as long before the third
	maxPause    = 10 * time.Second // as a server asks for
	maxAnswer   = 4 << 10          // bytes of an answer that are read, so that its connection can be used again
)

// exitError is the end of a command that failed.
type exitError struct{ run hook.Run }

func (e exitError) Error() string {
	return fmt.Sprintf("exit code %d: %s", e.run.Exit, session.ClipText(e.run.Errors, maxText))
}

// post sends the message to a webhook, and again if that may succeed.
func (s *Sender) post(ctx context.Context, d delivery, body []byte) error {
	for attempt, pause := 1, firstPause; ; attempt, pause = attempt+1, 2*pause {
		again, after, err := s.tryPost(ctx, d, body)
		if err == nil || !again || attempt == maxAttempts {
			return err
		}
		wait := time.NewTimer(max(pause, min(after, maxPause)))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return err
		}
	}
}

// tryPost makes one attempt. again reports that another one may succeed; after is how long the server asks to wait.
func (s *Sender) tryPost(
	ctx context.Context, d delivery, body []byte,
) (again bool, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.target.Webhook, bytes.NewReader(body))
	if err != nil {
		return false, 0, errors.New("its address is invalid") // the error has the address, which is a secret
	}
	r.Header.Set("User-Agent", "cairn")
	for name, value := range d.target.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the address
	}
	if err != nil {
		return true, 0, fmt.Errorf("no answer: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer) // what it says does not count
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return false, 0, nil
	}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		after = time.Duration(min(n, 3600)) * time.Second
	}
	again = resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500
	return again, after, fmt.Errorf("it answers %s", resp.Status)
}
