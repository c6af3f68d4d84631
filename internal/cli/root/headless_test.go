package root

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/session"
)

// calling is a model that calls a tool so many times in the same words, each time in a turn of its own, and then says
// something.
func calling(name string, times int) string {
	return fmt.Sprintf(`{"turns":[
		{"times":%d,"steps":[{"text":"Working."},{"call":{"name":%q,"arguments":{"filePath":"a.txt"}}}]},
		{"repeat":true,"steps":[{"text":"Done."}]}]}`, times, name)
}

// whatAsks is everything that waits for an answer, with the exit codes of a no and of a yes.
var whatAsks = []struct {
	kind, model string
	rule        session.Rule
	budget      *session.Budget
	deny, allow cli.ExitCode
}{
	{
		"permission",
		calling("edit", 1),
		session.Rule{Action: "edit", Resource: "*", Effect: session.Ask},
		nil,
		cli.ExitDenied,
		cli.ExitOK,
	},
	{
		"command",
		calling("bash", 1),
		session.Rule{Action: "bash", Resource: "*", Effect: session.Ask},
		nil,
		cli.ExitDenied,
		cli.ExitOK,
	},
	{
		"directory",
		calling("external_directory", 1),
		session.Rule{Action: "external_directory", Resource: "*", Effect: session.Ask},
		nil,
		cli.ExitDenied,
		cli.ExitOK,
	},
	{
		"question",
		calling("question", 1),
		session.Rule{Action: "question", Resource: "*", Effect: session.Ask},
		nil,
		cli.ExitDenied,
		cli.ExitOK,
	},
	{
		"doom loop",
		calling("read", 4),
		session.Rule{Action: "doom_loop", Resource: "*", Effect: session.Ask},
		nil,
		cli.ExitDenied,
		cli.ExitOK,
	},
	{
		"budget",
		calling("read", 2),
		session.Rule{Action: "read", Resource: "*", Effect: session.Allow},
		&session.Budget{Turns: 1},
		cli.ExitBudget,
		cli.ExitBudget,
	},
}

// wantedExit returns the exit code of a run whose asks a policy answers. A repeated call is refused in words, and the
// model goes on; only the policies that do not deny at once ask.
func wantedExit(kind, policy string, deny, allow cli.ExitCode) cli.ExitCode {
	if policy == "allow" || kind == "doom loop" && (policy == "" || policy == "deny") {
		return allow
	}
	return deny
}

// silent is a terminal without input.
type silent struct{ io.Reader }

func (silent) Write(p []byte) (int, error) { return len(p), nil }

func (silent) Close() error { return nil }

var policies = []string{"", "deny", "fail", "wait:1m", "allow"}

// inputs are the standard inputs of a run without a user: closed, one that stays open, a terminal.
var inputs = []string{"closed", "open", "terminal"}

// unanswered is a shell with such an input.
func (w *world) unanswered(t *testing.T, input string) *shell {
	t.Helper()
	sh := &shell{world: w}
	if input == "closed" {
		return sh
	}
	stdin, keepOpen := io.Pipe()
	t.Cleanup(func() { _ = keepOpen.Close() })
	sh.open = stdin
	if input == "terminal" {
		sh.terminal = silent{stdin}
	}
	return sh
}

// Every request for input, at any depth, ends without a user, whatever the standard input is: in time, by the declared
// policy, with its exit code and a result that names the request.
func TestHeadless(t *testing.T) {
	for _, ask := range whatAsks {
		for _, policy := range policies {
			for cell := range 3 * len(inputs) {
				depth, input := cell/len(inputs), inputs[cell%len(inputs)]
				t.Run(fmt.Sprintf("%s/%s/%d/%s", ask.kind, policy, depth, input), func(t *testing.T) {
					want := wantedExit(ask.kind, policy, ask.deny, ask.allow)
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t, ask.model)
						if _, err := w.tools.Register(asking{"bash"}, asking{"external_directory"}, asking{"question"}); err != nil {
							t.Fatal(err)
						}
						args := []string{
							"run",
							"--format",
							"json",
							"-s",
							string(w.depth(t, depth, ask.rule, ask.budget)),
						}
						if policy != "" {
							args = append(args, "--ask="+policy)
						}
						sh, start := w.unanswered(t, input), time.Now()
						r := sh.run(append(args, "go")...).result(t)
						if r.ExitCode != want || strings.TrimSpace(r.Text) == "" ||
							(r.ExitCode == cli.ExitDenied) != (len(r.Denials) > 0) {
							t.Errorf("exit %d, want %d: %+v", r.ExitCode, want, r)
						}
						if took := time.Since(start); took > 2*time.Minute { // of the bubble's clock
							t.Errorf("it took %v", took)
						}
					})
				})
			}
		}
	}
}

// The same for people: what is printed says something.
func TestHeadlessText(t *testing.T) {
	for _, ask := range whatAsks {
		for cell := range len(policies) * len(inputs) {
			policy, input := policies[cell/len(inputs)], inputs[cell%len(inputs)]
			t.Run(fmt.Sprintf("%s/%s/%s", ask.kind, policy, input), func(t *testing.T) {
				want := wantedExit(ask.kind, policy, ask.deny, ask.allow)
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, ask.model)
					if _, err := w.tools.Register(asking{"bash"}, asking{"external_directory"}, asking{"question"}); err != nil {
						t.Fatal(err)
					}
					args := []string{"run", "-s", string(w.depth(t, 1, ask.rule, ask.budget))}
					if policy != "" {
						args = append(args, "--ask="+policy)
					}
					out := w.unanswered(t, input).run(append(args, "go")...)
					says := out.stderr.String()
					if cli.ExitCode(out.code) != want || out.stdout.Len() == 0 ||
						want == cli.ExitDenied && !strings.Contains(says, "denied") ||
						want == cli.ExitBudget && !strings.Contains(says, "budget") {
						t.Errorf("exit %d, want %d: %q %q", out.code, want, out.stdout.String(), says)
					}
				})
			})
		}
	}
}

// depth makes a session below so many others, and a rule that only the one at the top has.
func (w *world) depth(t *testing.T, depth int, rule session.Rule, budget *session.Budget) session.ID {
	t.Helper()
	r := admit.CreateRequest{
		Title:      "t",
		Location:   session.Location{Directory: "/work"},
		Permission: []session.Rule{rule},
	}
	for d := range depth + 1 {
		if d == depth {
			r.Budget = budget
		}
		s, err := w.engine.Commands.CreateSession(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.ParentID, r.Permission = s.ID, []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	}
	return r.ParentID
}
