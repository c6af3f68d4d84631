package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool/task"
)

// The export of an imported session is the imported file, for sessions with prompts, calls, subagents, compactions,
// reverts, forks, edits, changes of files, outputs, and contents that are lost, in random order.
func TestExportOfImportedLog(t *testing.T) {
	done := map[string]int{}
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRandomSession(t, seed)
				for range 25 {
					r.act(done)
				}
				r.w.close(t)
				proveClean(t, r.w, "after the session")
				proveExports(t, r.w)
			})
		})
	}
	// A test of nothing proves nothing: every action was done.
	for _, name := range actionNames {
		if done[name] == 0 {
			t.Errorf("no session had the action %s", name)
		}
	}
}

// randomSession makes a session of random actions.
type randomSession struct {
	t    *testing.T
	w    *world
	rand *rand.Rand
	id   session.ID
	n    int // of the next prompt, file or output
}

var actionNames = []string{
	"prompt", "call", "task", "compact", "stage", "clear", "commit", "fork", "edit part", "remove", "file", "output",
	"lose content", "rename", "uncompact",
}

func newRandomSession(t *testing.T, seed uint64) *randomSession {
	turn := func(match string, steps ...script.Step) script.Turn {
		return script.Turn{Match: match, Repeat: true, Steps: steps}
	}
	call := func(name, arguments string) script.Step {
		return script.Step{Call: &script.Call{ID: "c", Name: name, Arguments: []byte(arguments)}}
	}
	once := func(turn script.Turn) script.Turn {
		turn.Repeat = false
		return turn
	}
	var turns []script.Turn
	for range 25 {
		turns = append(turns,
			once(turn("a call", call("echo", `{"text":"said"}`))),
			once(turn("a task", call("task", `{"description":"find","prompt":"look","subagent_type":"helper"}`))))
	}
	turns = append(turns, turn("", script.Step{Text: script.Chunks{"## Goal\n- They said \u0000… ", "<b>\u2028"}}))
	random := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a test
	r := &randomSession{t: t, w: newWorld(t, script.Script{Turns: turns}), rand: random, id: "ses_a"}
	helper := session.Agent{ID: "helper", Mode: session.ModeSubagent}
	r.w.agents["helper"] = helper
	if _, err := r.w.tools.Register(task.New([]session.Agent{helper})...); err != nil {
		t.Fatal("register the tools:", err)
	}
	r.w.sources = []*source{{key: "core/rules", value: "be brief"}}
	_, err := r.w.engine.Commands.CreateSession(t.Context(), admit.CreateRequest{
		ID: r.id, Location: session.Location{Directory: "/work"}, Title: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// act does one action. One that the session refuses now, such as clearing a revert that is not there, is not counted.
func (r *randomSession) act(done map[string]int) {
	name := actionNames[r.rand.IntN(len(actionNames))]
	if r.rand.IntN(3) == 0 {
		name = actionNames[r.rand.IntN(3)] // more to work on
	}
	err := r.do(name)
	synctest.Wait()
	if err == nil {
		done[name]++
		return
	}
	if e, ok := errors.AsType[*session.Error](err); !ok {
		r.t.Errorf("%s: %v", name, err)
	} else if e.Code == session.CodeInternal {
		r.t.Errorf("%s: %v", name, e)
	}
}

func (r *randomSession) do(name string) error {
	ctx, c := context.Background(), r.w.engine.Commands
	message, turn := r.pick()
	r.n++
	switch name {
	case "prompt", "call", "task":
		if r.rand.IntN(4) == 0 {
			r.w.sources[0].value = fmt.Sprint("be brief ", r.n)
		}
		_, err := c.AdmitPrompt(ctx, admit.PromptRequest{
			SessionID: r.id, ID: session.MessageID(fmt.Sprintf("msg_p%03d", r.n)), Delivery: session.Steer,
			Prompt: session.Prompt{Text: fmt.Sprintf("a %s, the %dth\n\"quoted\" é", name, r.n)},
		})
		return err
	case "compact":
		_, err := c.AdmitCompaction(ctx, admit.CompactionAdmission{SessionID: r.id})
		return err
	case "uncompact":
		return c.UndoCompaction(ctx, r.id)
	case "stage":
		_, err := c.StageRevert(ctx, r.id, undo.Target{Point: undo.Point{MessageID: message}, Before: r.rand.IntN(2) == 0})
		return err
	case "clear":
		_, err := c.ClearRevert(ctx, r.id)
		return err
	case "commit":
		return c.CommitRevert(ctx, r.id)
	case "fork":
		s, err := c.ForkSession(ctx, r.id, admit.CopyEnd{Before: message})
		if err == nil && r.rand.IntN(2) == 0 {
			r.id = s.ID
		}
		return err
	case "edit part", "remove", "file":
		return r.change(name, message, turn)
	case "output":
		r.w.files.Outputs[fmt.Sprintf("tool_%03d-%s", r.n, r.id)] = make([]byte, r.rand.IntN(500_000))
		return nil
	case "lose content":
		for id := range r.w.files.Contents {
			delete(r.w.files.Contents, id)
			return nil
		}
		return session.Errorf(session.CodeNotFound, "no content")
	default:
		title := fmt.Sprint("title ", r.n)
		return c.ChangeSession(ctx, r.id, admit.SessionChange{Title: &title})
	}
}

// change changes a message, or records that a call changed a file.
func (r *randomSession) change(name string, message session.MessageID, turn *session.Assistant) error {
	ctx, c := context.Background(), r.w.engine.Commands
	if name == "remove" {
		return c.RemoveMessage(ctx, r.id, message)
	}
	if turn == nil || len(turn.Content) == 0 {
		return session.Errorf(session.CodeNotFound, "no turn")
	}
	if name == "edit part" {
		return c.RemovePart(ctx, r.id, turn.ID, turn.Content[0].ItemID())
	}
	before, err := r.w.files.PutContent(fmt.Appendf(nil, "before %d", r.n))
	if err != nil {
		return err
	}
	after, err := r.w.files.PutContent(make([]byte, r.rand.IntN(400_000)))
	if err != nil {
		return err
	}
	path := []session.FilePath{"a.txt", "n\xff", "/outside", ".git/hooks/pre-commit"}[r.rand.IntN(4)]
	return r.w.engine.journal.AppendFacts(ctx, r.id, &session.FilesWriting{
		MessageID: turn.ID, CallID: "c", Files: []session.FileChange{{
			Path: path, Before: session.PathState{Blob: before, Mode: session.ModeFile},
			After: session.PathState{Blob: after, Mode: session.ModeExecutable},
		}},
	})
}

// pick returns a message of the session, and a turn of it.
func (r *randomSession) pick() (m session.MessageID, turn *session.Assistant) {
	ms, err := store.Query(context.Background(), r.w.store, func(rd store.Reader) ([]session.Message, error) {
		return store.ReadMessages(rd, r.id, store.MessageQuery{After: -1})
	})
	if err != nil {
		r.t.Fatal("read the messages:", err)
	}
	r.rand.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
	for _, m := range ms {
		if a, ok := m.(*session.Assistant); ok && turn == nil {
			turn = a
		}
	}
	if len(ms) == 0 {
		return "msg_none", nil
	}
	return ms[0].Meta().ID, turn
}
