package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// Bounds of the way to the collector.
const (
	maxQueue      = 2048             // spans that wait; more are dropped
	maxBatch      = 512              // spans of one request
	flushEvery    = 5 * time.Second  // spans
	metricsEvery  = time.Minute      // metrics
	sendTimeout   = 10 * time.Second // one request
	maxAttempts   = 5                // of one request
	firstPause    = time.Second      // before the second attempt; each pause is twice as long as the one before
	maxRetryAfter = 5 * time.Minute  // as a collector asks for
	maxAnswer     = 64 << 10         // bytes of an answer
)

// Config of an Exporter.
type Config struct {
	Settings
	Metrics   *Registry // nil: no metrics are sent
	Transport http.RoundTripper
	Logger    *slog.Logger
}

// Exporter sends spans and metrics to a collector in the background. It begins with Start, and no work waits for it: what is
// too much is dropped and counted. Safe for concurrent use. A nil Exporter sends nothing.
type Exporter struct {
	config  Config
	client  *http.Client
	started sync.Once
	wake    chan struct{} // capacity 1
	closing chan struct{}
	done    chan struct{} // closed when the goroutine has ended
	stop    chan struct{} // closed when Close gives up
	dropped atomic.Int64  // spans
	failing bool          // of the goroutine: the last request failed

	mu     sync.Mutex // guards the rest
	queue  []*Span
	closed bool
}

// NewExporter returns an exporter that has sent nothing yet.
func NewExporter(c Config) *Exporter {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	// Headers have secrets, which go to the configured address only.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Exporter{
		config: c, client: &http.Client{Transport: c.Transport, CheckRedirect: stay, Timeout: sendTimeout},
		wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}), stop: make(chan struct{}),
	}
}

// Start has the exporter run until Close. Only the first call counts, and none after Close.
func (e *Exporter) Start() {
	if e != nil {
		e.started.Do(func() { go e.run() })
	}
}

// Dropped returns how many spans were dropped: because the queue was full, or the collector did not take them.
func (e *Exporter) Dropped() int64 {
	if e == nil {
		return 0
	}
	return e.dropped.Load()
}

// add queues a span.
func (e *Exporter) add(s *Span) {
	e.Start()
	e.mu.Lock()
	isFull := e.closed || len(e.queue) >= maxQueue
	if !isFull {
		e.queue = append(e.queue, s)
	}
	isBatch := len(e.queue) >= maxBatch
	e.mu.Unlock()
	if isFull {
		e.dropped.Add(1)
	}
	if isBatch {
		select {
		case e.wake <- struct{}{}:
		default: // it is awake
		}
	}
}

// Close sends what waits, without pauses, and returns when that is done or ctx ends.
func (e *Exporter) Close(ctx context.Context) error {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	isFirst := !e.closed
	e.closed = true
	e.mu.Unlock()
	if !isFirst {
		return nil
	}
	e.started.Do(func() { close(e.done) }) // it never ran
	close(e.closing)
	var err error
	select {
	case <-e.done:
	case <-ctx.Done():
		close(e.stop)
		<-e.done // the requests are cut
		err = context.Cause(ctx)
	}
	e.client.CloseIdleConnections()
	if n := e.dropped.Load(); n > 0 {
		e.config.Logger.Warn("spans were dropped", "spans", n)
	}
	return err
}

// run sends batches until the exporter is closed, and then what is left.
func (e *Exporter) run() {
	defer close(e.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with run, or earlier
		select {
		case <-e.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	spans, metrics := time.NewTicker(flushEvery), time.NewTicker(metricsEvery)
	defer spans.Stop()
	defer metrics.Stop()
	for {
		select {
		case <-e.closing:
			e.sendSpans(ctx)
			e.sendMetrics(ctx)
			return
		case <-metrics.C:
			e.sendMetrics(ctx)
		case <-spans.C:
			e.sendSpans(ctx)
		case <-e.wake:
			e.sendSpans(ctx)
		}
	}
}

// sendSpans sends batches until no span waits.
func (e *Exporter) sendSpans(ctx context.Context) {
	for {
		e.mu.Lock()
		n := min(len(e.queue), maxBatch)
		batch := e.queue[:n:n]
		e.queue = e.queue[n:]
		e.mu.Unlock()
		if n == 0 {
			return
		}
		body, err := e.encodeSpans(batch)
		if err == nil {
			err = e.send(ctx, "/v1/traces", body)
		}
		if err != nil {
			e.dropped.Add(int64(n))
		}
		e.noteOutcome(err)
	}
}

// sendMetrics sends the metrics. If that fails the next ones have all of it.
func (e *Exporter) sendMetrics(ctx context.Context) {
	if e.config.Metrics == nil {
		return
	}
	body, err := e.encodeMetrics(e.config.Metrics)
	if err == nil {
		err = e.send(ctx, "/v1/metrics", body)
	}
	e.noteOutcome(err)
}

// noteOutcome logs the first of several failures, and the first success after them.
func (e *Exporter) noteOutcome(err error) {
	switch {
	case err != nil && !e.failing:
		e.config.Logger.Warn("telemetry could not be sent", "collector", e.config.host(), "error", err)
	case err == nil && e.failing:
		e.config.Logger.Info("telemetry is sent again", "collector", e.config.host())
	}
	e.failing = err != nil
}

// send sends a request, and again after a pause if it may succeed then. When the exporter closes there is one more attempt.
func (e *Exporter) send(ctx context.Context, path string, body []byte) error {
	pause, isLast := firstPause, false
	for attempt := 1; ; attempt++ {
		after, err := e.post(ctx, path, body)
		if err == nil || after < 0 || attempt == maxAttempts {
			return err
		}
		wait := time.NewTimer(max(after, pause/2+rand.N(pause))) // jitter: other processes wait as well
		select {
		case <-wait.C:
		case <-e.closing:
			wait.Stop()
			if isLast || after > 0 {
				return err
			}
			isLast = true
		case <-ctx.Done():
			wait.Stop()
			return err
		}
		pause *= 2
	}
}

// post makes one attempt. After a failure it returns how long the collector asks to wait at least, and a negative time if
// another attempt cannot succeed.
func (e *Exporter) post(ctx context.Context, path string, body []byte) (after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.config.Endpoint+path, bytes.NewReader(body))
	if err != nil {
		return -1, errors.New("the address is invalid")
	}
	for name, value := range e.config.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := e.client.Do(r)
	if err != nil {
		return 0, describeTransport(err)
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // what there is of it
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		e.notePartial(answer)
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return parseRetryAfter(resp.Header.Get("Retry-After")), fmt.Errorf("the collector answers %s", resp.Status)
	default:
		return -1, fmt.Errorf("the collector answers %s", resp.Status)
	}
}

// notePartial logs what a collector has refused of a request that it accepted. It is not sent again.
func (e *Exporter) notePartial(answer []byte) {
	var said struct {
		Partial struct {
			Spans   any    `json:"rejectedSpans"` // a text or a number
			Points  any    `json:"rejectedDataPoints"`
			Message string `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return
	}
	if n, _ := strconv.ParseInt(fmt.Sprint(said.Partial.Spans), 10, 64); n > 0 {
		e.dropped.Add(n)
	}
	if p := said.Partial; p.Spans != nil || p.Points != nil || p.Message != "" {
		e.config.Logger.Warn("the collector did not take all telemetry", "spans", p.Spans, "points", p.Points,
			"message", p.Message[:min(len(p.Message), 200)])
	}
}

// parseRetryAfter returns the time of a header Retry-After, in seconds or as a date, within bounds.
func parseRetryAfter(value string) time.Duration {
	if n, err := strconv.Atoi(value); err == nil {
		return min(max(0, time.Duration(min(n, 3600))*time.Second), maxRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, time.Until(at)), maxRetryAfter)
	}
	return 0
}
