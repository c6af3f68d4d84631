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
	"github.com/cairn-dev/cairn/internal/record/check"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
)

// answered records the parent's knowledge of one prompt whose call asks.
type answered struct {
	session session.ID
	message session.MessageID
	token   string
	replies map[session.AskID]bool // whether the reply was acknowledged
}

// TestKillWhileAnswering answers asks while the process that waits for the answer is killed: before, while, and after
// the reply is committed. An acknowledged reply holds: its call runs once, or is settled as interrupted, and the user
// is not asked for it again.
func TestKillWhileAnswering(t *testing.T) {
	rounds := 40
	if testing.Short() || raceEnabled {
		rounds = 4
	}
	if os.Getenv("CAIRN_SOAK") != "" {
		rounds = 2000
	}
	seed := newSeed(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	t.Logf("seed %d, %d rounds", seed, rounds)
	w := newWorld(t, 0)
	config := strings.Replace(w.provider.config(), `"bash": "allow"`, `"bash": "ask"`, 1)
	if err := os.WriteFile(filepath.Join(w.home, "config", "cairn.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	sessions := w.sessions(3)
	var all []*answered
	acknowledged := 0
	for i := 0; i < rounds || (acknowledged < rounds/2 &&
		i < 3*rounds); i++ { // few rounds may be unlucky with their deaths
		a := &answered{
			session: sessions[i%len(sessions)], message: session.MessageID(fmt.Sprintf("msg_answer%d", i)),
			token:   fmt.Sprintf("tok-%d-a", i),
			replies: map[session.AskID]bool{},
		}
		all = append(all, a)
		w.answerAndKill(rng, a)
		for _, ok := range a.replies {
			if ok {
				acknowledged++
			}
		}
	}
	w.judgeAnswers(all)
	if acknowledged < rounds/2 {
		t.Errorf("only %d replies of %d rounds were acknowledged: this proves little", acknowledged, len(all))
	}
	t.Logf("%d replies acknowledged", acknowledged)
}

// deaths are the points around a reply.
func deaths(rng *rand.Rand) string {
	points := []fault.Name{
		fault.PermAsked, fault.PermReplied, fault.StorePreCommit, fault.StorePostCommit, fault.StorePreAnswer, fault.ToolExec,
		fault.ToolPreSettle,
		fault.ToolSettled,
	}
	switch i := rng.IntN(len(points) + 4); {
	case i >= len(points): // by us, at a random moment
		return ""
	case strings.HasPrefix(string(points[i]), "store"):
		return fmt.Sprintf("%s#%d=kill", points[i], 2+rng.IntN(12))
	default:
		return fmt.Sprintf("%s#1=kill", points[i])
	}
}

// answerAndKill prompts, answers and kills; then it starts again and sees the prompt to its end, answering what still
// asks.
func (w *world) answerAndKill(rng *rand.Rand, a *answered) {
	w.t.Helper()
	if c := w.start(deaths(rng)); c != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		w.prompt(ctx, c, a)
		if ask, ok := w.pending(ctx, c, a); ok {
			w.replyAndKill(ctx, rng, c, a, ask)
		}
		c.kill()
		cancel()
	}
	c := w.start("")
	defer c.kill()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	w.prompt(ctx, c, a) // the same again, if it was lost
	for {
		ask, ok := w.pending(ctx, c, a)
		if !ok {
			break
		}
		if a.replies[ask] {
			w.t.Errorf("%s is asked again after its answer was acknowledged", ask)
			return
		}
		if err := c.client.Reply(ctx, a.session, ask, api.ReplyRequest{Reply: session.ReplyOnce}); err != nil {
			w.t.Fatalf("reply to %s: %v: %s", ask, err, c.stderr)
		}
		a.replies[ask] = true
	}
	w.rest(c)
}

func (w *world) prompt(ctx context.Context, c *child, a *answered) {
	_, _ = c.client.Prompt(
		ctx,
		a.session,
		api.PromptRequest{ID: a.message, Prompt: &session.Prompt{Text: "do " + a.token}},
	) // it may die over this
}

// replyAndKill answers, and kills at a random moment around that.
func (w *world) replyAndKill(ctx context.Context, rng *rand.Rand, c *child, a *answered, ask session.AskID) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(time.Duration(rng.IntN(12_000)) * time.Microsecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.ended:
		}
		_ = c.cmd.Process.Kill()
	}()
	err := c.client.Reply(ctx, a.session, ask, api.ReplyRequest{Reply: session.ReplyOnce})
	<-ended
	a.replies[ask] = err == nil
}

// pending waits until the session asks something, or is done or dead.
func (w *world) pending(ctx context.Context, c *child, a *answered) (session.AskID, bool) {
	poll := time.NewTicker(3 * time.Millisecond) // the server is another process and sends no signal
	defer poll.Stop()
	for idle := 0; idle < 3; <-poll.C {
		asks, err := c.client.Asks(ctx, a.session)
		if err != nil {
			return "", false
		}
		if len(asks) > 0 {
			return asks[0].ID, true
		}
		active, err := c.client.Active(ctx)
		if err != nil {
			return "", false
		}
		if active[a.session].Type == api.TypeRunning {
			idle = 0
		} else {
			idle++
		}
	}
	return "", false
}

// judgeAnswers compares what was acknowledged with what is there.
func (w *world) judgeAnswers(all []*answered) {
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
	err = s.View(ctx, func(r store.Reader) error {
		for _, a := range all {
			if err := judgeAnswer(r, a, effects[a.token]); err != nil {
				w.t.Errorf("%s: %v", a.token, err)
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// judgeAnswer says what is wrong with one answered prompt: each call asked once, and ran as often as its settlement
// says.
func judgeAnswer(r store.Reader, a *answered, effects int) error {
	asked, err := asksOfCalls(r, a.session)
	if err != nil {
		return err
	}
	done, settled := 0, 0
	ms, err := store.ReadMessages(r, a.session, store.MessageQuery{})
	if err != nil {
		return err
	}
	for _, m := range ms {
		turn, ok := m.(*session.Assistant)
		if !ok {
			continue
		}
		for _, call := range turn.Tools() {
			if !strings.Contains(string(call.State.Input), a.token) {
				continue
			}
			switch {
			case !call.State.Status.IsSettled():
				return fmt.Errorf("the call %s is not settled", call.ID)
			case asked[call.PartID] > 1:
				return fmt.Errorf("the call %s asked %d times", call.ID, asked[call.PartID])
			}
			settled++
			if call.State.Status == session.ToolCompleted {
				done++
			}
		}
	}
	switch {
	case settled == 0:
		return fmt.Errorf("the prompt led to no call")
	case effects > settled || effects < done:
		return fmt.Errorf("%d calls, %d of them recorded as done, and the effect happened %d times", settled, done, effects)
	}
	for ask, acknowledged := range a.replies {
		row, ok, err := store.FindAsk(r, ask)
		switch {
		case err != nil:
			return err
		case acknowledged && (!ok || row.Reply != session.ReplyOnce):
			return fmt.Errorf("the acknowledged reply to %s is lost: %+v", ask, row)
		}
	}
	return nil
}

// asksOfCalls counts the asks of each call in the log.
func asksOfCalls(r store.Reader, id session.ID) (map[session.PartID]int, error) {
	rows, err := r.Events(id, 0, 0, session.KindPermissionAsked)
	counts := map[session.PartID]int{}
	for _, row := range rows {
		e, err := eventlog.Decode(row)
		if err != nil {
			return nil, err
		}
		if asked, ok := e.Data.(*session.PermissionAsked); ok && asked.Ask.Source != nil {
			counts[asked.Ask.Source.PartID]++
		}
	}
	return counts, err
}
