//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
)

// The deaths of the server while a tree works: as many as its work is resumed after, and more, after which work is
// given up.
const (
	fewDeaths  = 2
	manyDeaths = 8
)

// TestKillTree kills the server at random moments and fault points while subagents of three levels work and ask. In the
// end each call of a subagent has one end and each subagent one session, each command ran at most once, each answer of
// the model is charged once, and nothing works. After few deaths all work is done.
func TestKillTree(t *testing.T) {
	trees := 4
	if testing.Short() || raceEnabled {
		trees = 2
	}
	if os.Getenv("CAIRN_SOAK") != "" {
		trees = 200
	}
	seed := newSeed(t)
	rng := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d", seed)
	w := newWorld(t, time.Millisecond)
	w.requireAsks()
	w.provider.log.isOn = true
	deaths := 0
	roots := make([]session.ID, trees)
	for i := range roots {
		lives := []int{fewDeaths, manyDeaths}[i%2]
		roots[i] = w.killTree(rng, i, lives)
		deaths += lives
	}
	c := w.start("")
	charged := charges{}
	for i, id := range roots {
		w.judgeTree(c, id, treeShape{level: treeLevels + 1, whole: i%2 == 0}, charged)
	}
	if active, err := c.client.Active(t.Context()); err != nil || len(active) > 0 {
		t.Errorf("at work in the end: %v, %v", active, err)
	}
	spent, err := c.client.Stats(t.Context(), api.StatsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	w.provider.log.checkCharges(t, charged, spent.Cost, 1<<treeLevels)
	c.leave()
	w.judge(&receipts{})
	t.Logf("%d deaths", deaths)
}

// requireAsks makes each command ask.
func (w *world) requireAsks() {
	path := filepath.Join(w.home, "config", "cairn.json")
	raw, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(raw), `"bash": "allow"`, `"bash": "ask"`, 1)), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// killTree lets a tree work through the deaths of the server, and to its end.
func (w *world) killTree(rng *rand.Rand, tree, deaths int) session.ID {
	w.t.Helper()
	request := api.PromptRequest{
		ID:       session.MessageID(fmt.Sprintf("msg_tree%d", tree)),
		Prompt:   &session.Prompt{Text: fmt.Sprintf("tree %d tok-%d", treeLevels, tree)},
		Recovery: session.RecoveryResume,
	}
	c := w.start("")
	s, err := c.client.Create(w.t.Context(), api.CreateSession{Title: "tree"})
	if err != nil {
		w.t.Fatal(err)
	}
	for life := range deaths {
		if c != nil {
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Duration(10+rng.IntN(150))*time.Millisecond)
			_, _ = c.client.Prompt(ctx, s.ID, request) // may have died
			w.answerAsks(ctx, c, s.ID)
			cancel()
			c.kill()
		}
		points := []fault.Name{
			fault.StorePreCommit, fault.StorePostCommit, fault.ToolExec, fault.ToolPreSettle, fault.ToolSettled,
			fault.PromotePreCommit, fault.TurnPreDispatch, fault.TurnFinish, fault.PermAsked, fault.PermReplied,
		}
		faults := ""
		if life%2 == 0 && life+1 < deaths && deaths > fewDeaths {
			faults = fmt.Sprintf("%s#%d=kill", points[rng.IntN(len(points))], 1+rng.IntN(8))
		}
		c = w.start(faults)
	}
	if _, err := c.client.Prompt(w.t.Context(), s.ID, request); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	w.answerAsks(ctx, c, s.ID)
	if ctx.Err() != nil {
		w.t.Fatalf("tree %d does not end", tree)
	}
	c.kill()
	return s.ID
}

// answerAsks allows what the tree asks, until its root is idle or ctx ends.
func (w *world) answerAsks(ctx context.Context, c *child, root session.ID) {
	idle := make(chan error, 1)
	go func() { idle <- c.client.Wait(ctx, root) }()
	poll := time.NewTicker(5 * time.Millisecond) // the server is another process and sends no signal
	defer poll.Stop()
	for {
		select {
		case <-idle:
			return
		case <-poll.C:
		}
		asks, err := c.client.Asks(ctx, root)
		if err != nil {
			continue
		}
		for _, a := range asks {
			_ = c.client.Reply(ctx, a.SessionID, a.ID, api.ReplyRequest{Reply: session.ReplyOnce}) // may have died
		}
	}
}

// treeLevels is the number of levels of sessions that work for each other below the root, two for each one above.
const treeLevels = 3

// treeShape holds the expectations for a session and those below it.
type treeShape struct {
	level int  // 1 has no subagents
	whole bool // no work was given up
}

// judgeTree checks that all turns and calls of the session have an end and, above the last level, that it has two calls
// of subagents with one session each; fewer if work was given up. It adds the turns to charged.
func (w *world) judgeTree(c *child, id session.ID, shape treeShape, charged charges) {
	w.t.Helper()
	page, err := c.client.Messages(w.t.Context(), id, api.MessageQuery{Limit: 200})
	if err != nil {
		w.t.Fatal(err)
	}
	tasks := 0
	for _, m := range page.Data {
		a, ok := m.(*session.Assistant)
		if !ok {
			continue
		}
		charged.addTurn(w.t, a)
		if a.Open() {
			w.t.Errorf("level %d: %s has an open turn", shape.level, id)
		}
		for _, call := range a.Tools() {
			if call.Time.Completed == 0 {
				w.t.Errorf("level %d: the call %s of %s has no end", shape.level, call.ID, id)
			}
			if call.Name == "task" {
				tasks++
			}
		}
	}
	children, err := c.client.Sessions(w.t.Context(), api.SessionQuery{Parent: &id, Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	most := 2
	if shape.level == 1 {
		most = 0
	}
	sessions := len(children.Data)
	if sessions > tasks || tasks > most || shape.whole && sessions < most {
		w.t.Errorf("level %d: %s has %d calls of subagents and %d sessions of them, want %d (%+v)",
			shape.level, id, tasks, sessions, most, shape)
	}
	shape.level--
	for _, s := range children.Data {
		w.judgeTree(c, s.ID, shape, charged)
	}
}
