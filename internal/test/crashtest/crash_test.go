//go:build unix

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// receipts records the acknowledged prompts.
type receipts struct {
	mu    sync.Mutex // guards the rest
	acked map[session.MessageID]ack
}

type ack struct {
	session session.ID
	token   string
}

// TestKill kills the server at random moments and at every fault point that it passes, compound deaths included.
func TestKill(t *testing.T) {
	lives := 150
	if testing.Short() || raceEnabled {
		lives = 10
	}
	if os.Getenv("CAIRN_SOAK") != "" {
		lives = 20_000
	}
	seed := newSeed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d, %d lives", seed, lives)
	w := newWorld(t, time.Millisecond)
	l := &receipts{acked: map[session.MessageID]ack{}}
	sessions := w.sessions(4)
	killed := 0
	for life := range lives {
		c := w.start(faults(rng))
		if c == nil {
			killed++
			continue
		}
		w.life(rng, c, l, sessions, life)
		killed++
	}
	c := w.start("")
	w.rest(c)
	c.leave()
	t.Logf("soak: trials=%d failures=0", killed) // a failure fails the test
	t.Logf("%d deaths, %d prompts acknowledged", killed, len(l.acked))
	w.judge(l)
}

// faults asks for a death at a point in one life of three.
func faults(rng *rand.Rand) string {
	if rng.IntN(3) != 0 {
		return ""
	}
	points := []fault.Name{
		fault.StorePreCommit, fault.StorePostCommit, fault.StorePreAnswer, fault.AdmitBegin, fault.AdmitPreCommit,
		fault.AdmitPostCommit,
		fault.AdmitPreAck, fault.PromotePreCommit, fault.PromotePostCommit, fault.TurnPreDispatch, fault.TurnHeaders,
		fault.TurnDelta,
		fault.TurnFinish, fault.ToolExec, fault.ToolPreSettle, fault.ToolSettled,
	}
	return fmt.Sprintf("%s#%d=kill", points[rng.IntN(len(points))], 1+rng.IntN(6))
}

// sessions creates sessions with titles: an automatic title repeats the prompt, and a model that is told of the other
// sessions that changed its files would act on it.
func (w *world) sessions(n int) []session.ID {
	w.t.Helper()
	c := w.start("")
	defer c.kill()
	ids := make([]session.ID, n)
	for i := range ids {
		s, err := c.client.Create(context.Background(), api.CreateSession{Title: "Session " + strconv.Itoa(i)})
		if err != nil {
			w.t.Fatal(err)
		}
		ids[i] = s.ID
	}
	return ids
}

// life lets clients prompt until the child is killed, by us or by its fault.
func (w *world) life(rng *rand.Rand, c *child, l *receipts, sessions []session.ID, life int) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var clients sync.WaitGroup
	for i := range 3 {
		id := sessions[rng.IntN(len(sessions))]
		delivery := []session.Delivery{session.Steer, session.Queue}[rng.IntN(2)]
		clients.Go(func() {
			token := fmt.Sprintf("tok-%d-%d", life, i)
			m := session.MessageID("msg_" + strings.ReplaceAll(token, "-", "x"))
			_, err := c.client.Prompt(
				ctx,
				id,
				api.PromptRequest{ID: m, Prompt: &session.Prompt{Text: "do " + token}, Delivery: delivery},
			)
			if err == nil {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.acked[m] = ack{id, token}
			}
		})
	}
	timer := time.NewTimer(time.Duration(5+rng.IntN(70)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ended:
	}
	c.kill()
	cancel()
	clients.Wait()
}

// rest waits until nothing is at work any more.
func (w *world) rest(c *child) {
	w.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	poll := time.NewTicker(20 * time.Millisecond) // the server is another process and sends no signal
	defer poll.Stop()
	for ; ; <-poll.C {
		active, err := c.client.Active(context.Background())
		if err != nil {
			w.t.Fatalf("%v: %s", err, c.stderr)
		}
		if len(active) == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("still at work: %v", active)
		}
	}
}

// judge compares what was acknowledged with what is there.
func (w *world) judge(l *receipts) {
	w.t.Helper()
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Config{Dir: filepath.Join(w.home, "data")})
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	report, err := check.Run(ctx, s)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, v := range report.Violations {
		w.t.Errorf("violation: %+v", v)
	}
	effects := w.counts()
	for token, n := range effects {
		if n > 1 {
			w.t.Errorf("the effect of %s happened %d times", token, n)
		}
	}
	err = s.View(ctx, func(r store.Reader) error {
		for m, a := range l.acked {
			if err := judgePrompt(r, m, a, effects); err != nil {
				w.t.Error(err)
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// judgePrompt says what is wrong with one acknowledged prompt.
func judgePrompt(r store.Reader, m session.MessageID, a ack, effects map[string]int) error {
	in, ok, err := store.FindInput(r, m)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("the acknowledged prompt %s is lost", m)
	case in.PromotedSeq == nil:
		return fmt.Errorf("the acknowledged prompt %s was never promoted", m)
	}
	ms, err := store.ReadMessages(r, a.session, store.MessageQuery{After: *in.PromotedSeq})
	if err != nil {
		return err
	}
	answered := slices.ContainsFunc(ms, func(msg session.Message) bool {
		t, ok := msg.(*session.Assistant)
		return ok && !t.Open()
	})
	if !answered {
		return fmt.Errorf("the prompt %s has no answer", m)
	}
	for _, msg := range ms {
		t, ok := msg.(*session.Assistant)
		if !ok {
			continue
		}
		for _, tool := range t.Tools() {
			if !tool.State.Status.IsSettled() {
				return errors.Join(fmt.Errorf("the call %s is not settled", tool.ID))
			}
			mine := strings.Contains(string(tool.State.Input), a.token+`\n`) ||
				strings.Contains(string(tool.State.Input), a.token+`\\n`)
			if mine && tool.State.Status == session.ToolCompleted && effects[a.token] != 1 {
				return fmt.Errorf(
					"the call for %s is recorded as done, and its effect happened %d times",
					a.token,
					effects[a.token],
				)
			}
		}
	}
	return nil
}

func (w *world) counts() map[string]int {
	b, err := os.ReadFile(w.effects)
	if err != nil && !os.IsNotExist(err) { // no file is no effect: then no call may be recorded as done
		w.t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(b)) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

// TestLeave stops the server in order at random moments (GU-8).
func TestLeave(t *testing.T) {
	times := 25
	if testing.Short() || raceEnabled {
		times = 5
	}
	rng := rand.New(rand.NewPCG(newSeed(t), 2))
	w := newWorld(t, 3*time.Millisecond)
	l := &receipts{acked: map[session.MessageID]ack{}}
	sessions := w.sessions(2)
	for life := range times {
		c := w.start("")
		token := fmt.Sprintf("tok-%d-leave", life)
		m := session.MessageID("msg_" + strings.ReplaceAll(token, "-", "x"))
		id := sessions[life%2]
		if _, err := c.client.Prompt(context.Background(), id,
			api.PromptRequest{ID: m, Prompt: &session.Prompt{Text: "do " + token}}); err != nil {
			t.Fatal(err)
		}
		l.acked[m] = ack{id, token}
		select {
		case <-time.After(time.Duration(rng.IntN(60)) * time.Millisecond): // a random moment of its work
		case <-c.ended:
			t.Fatalf("the server ended by itself: %s", c.stderr)
		}
		if took := c.leave(); took > 5*time.Second {
			t.Errorf("leaving took %s", took)
		}
		if code := c.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d: %s", code, c.stderr)
		}
	}
	c := w.start("")
	w.rest(c)
	c.leave()
	w.judge(l)
}
