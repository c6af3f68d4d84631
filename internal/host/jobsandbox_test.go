package host

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/record/store/sqlite"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
)

// A background job of an open session is inside of the sandbox, also that of a subagent, and has no protected file
// while it runs.
func TestJobsInSandbox(t *testing.T) {
	if err := cmp.Or(sandbox.Check(), sandbox.CheckNamespace()); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	const job = `{"call":{"id":"j","name":"bash","arguments":{"description":"a job","background":true,
		"command":"sh job.sh; sleep 60"}}}`
	const task = `{"call":{"id":"t","name":"task","arguments":{"description":"a task","prompt":"inner",
		"subagent_type":"general"}}}`
	const end = `{"repeat":true,"steps":[{"text":"ok"}]}`
	for name, turns := range map[string]string{
		"session": `{"turns":[{"match":"outer","steps":[` + job + `]},` + end + `]}`,
		"subagent": `{"turns":[{"match":"outer","steps":[` + task + `]},
			{"match":"inner","steps":[` + job + `]},` + end + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			home, _ := newHome(t)
			o := optionsOf(home)
			write(t, filepath.Join(home, "script.json"), turns)
			write(t, filepath.Join(o.Dir, "job.sh"), "echo x > ../outside; echo x > inside; echo x > .envrc\n")
			o.Program.Models = []*llm.EmbeddedModel{script.Embed(filepath.Join(home, "script.json"))}
			dirs, err := config.FindDirectories(o.Env)
			if err != nil {
				t.Fatal("find the directories:", err)
			}
			lease, err := sqlite.AcquireLease(dirs.Data, sqlite.Owner{})
			if err != nil {
				t.Fatal("acquire the lease:", err)
			}
			w, err := openOwner(t.Context(), lease, dirs, o)
			if err != nil {
				t.Fatal("open the data:", err)
			}
			defer func() {
				if err := w.close(t.Context()); err != nil {
					t.Error("close the data:", err)
				}
			}()
			ctx := caller.NewContext(t.Context(), caller.Caller{Role: caller.Approve})
			s, err := w.engine.Commands.CreateSession(ctx, admit.CreateRequest{
				Location: session.Location{Directory: o.Dir}, Open: true,
				Model: &session.ModelRef{ProviderID: "cairn", ID: "script"},
			})
			if err == nil {
				_, err = w.engine.Commands.AdmitPrompt(ctx, admit.PromptRequest{
					SessionID: s.ID, Prompt: session.Prompt{Text: "outer"},
				})
			}
			if err != nil {
				t.Fatal("prompt the session:", err)
			}
			held := func() bool {
				found, _ := filepath.Glob(filepath.Join(dirs.Data, "held", "*", "*", ".envrc"))
				return len(found) == 1
			}
			wait, cancel := context.WithTimeout(t.Context(), time.Minute)
			waitUntil(wait, held)
			cancel()
			if _, err := os.Stat(filepath.Join(o.Dir, "inside")); err != nil || !held() {
				t.Errorf("the job did not run, or its new file is not held: %v", err)
			}
			for _, path := range []string{filepath.Join(home, "outside"), filepath.Join(o.Dir, ".envrc")} {
				if _, err := os.Lstat(path); err == nil {
					t.Errorf("the job wrote %s", path)
				}
			}
		})
	}
}
