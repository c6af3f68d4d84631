package root

import (
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

const hello = `{"turns":[{"repeat":true,"steps":[{"text":["Hel","lo."]}],"usage":{"input":100,"output":5}}]}`

const editing = `{"turns":[
	{"steps":[{"text":"Changing."},{"call":{"id":"c1","name":"edit","arguments":{"filePath":"a.txt"}}}]},
	{"repeat":true,"steps":[{"text":"Done."}]}]}`

// unnamed replaces ids and times, which differ each time.
func unnamed(s string) string {
	for _, prefix := range []string{"ses_", "msg_", "per_"} {
		for {
			i := strings.Index(s, prefix)
			if i < 0 {
				break
			}
			j := i + len(prefix)
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] >= 'a' && s[j] <= 'z' || s[j] >= 'A' && s[j] <= 'Z') {
				j++
			}
			s = s[:i] + "<" + prefix[:3] + ">" + s[j:]
		}
	}
	return s
}

func (o *typed) want(t *testing.T, code cli.ExitCode, stdout, stderr string) {
	t.Helper()
	if o.code != int(code) {
		t.Errorf("exit %d, want %d", o.code, code)
	}
	if d := cmp.Diff(stdout, unnamed(o.stdout.String())); d != "" {
		t.Errorf("standard output: %s", d)
	}
	if d := cmp.Diff(stderr, unnamed(o.stderr.String())); d != "" {
		t.Errorf("standard error: %s", d)
	}
}

const closing = "mock/main · 100 tokens in, 5 out · $0.0001 · <ses> · continue with: cairn run -s <ses> \"…\"\n"

func TestRunText(t *testing.T) {
	sh := &shell{world: newWorld(t, hello)}
	sh.run("run", "Say", "hello").want(t, cli.ExitOK, "Hello.\n", closing)
}

// result is the last line of --format json.
func (o *typed) result(t *testing.T) printer.Result {
	t.Helper()
	lines := strings.Split(strings.TrimRight(o.stdout.String(), "\n"), "\n")
	for _, l := range lines {
		if !jsontext.Value(l).IsValid() {
			t.Errorf("no JSON: %q", l)
		}
	}
	var r printer.Result
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &r); err != nil || r.Type != "result" {
		t.Fatalf("the last line is no result: %q (%v)", lines[len(lines)-1], err)
	}
	if int(r.ExitCode) != o.code {
		t.Errorf("exit %d, but the result says %d", o.code, r.ExitCode)
	}
	return r
}

func (o *typed) kinds() string {
	var kinds []string
	for l := range strings.Lines(o.stdout.String()) {
		var v struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(l), &v)
		kinds = append(kinds, v.Type)
	}
	return strings.Join(kinds, " ")
}

func TestRunJSON(t *testing.T) {
	sh := &shell{world: newWorld(t, hello)}
	o := sh.run("run", "--format", "json", "Say hello")
	r := o.result(t)
	if r.IsError || r.Text != "Hello." || r.Usage.Input != 100 || r.Cost != session.Dollar/10000 || r.SessionID == "" ||
		r.Model != "mock/main" {
		t.Errorf("%+v", r)
	}
	if got := o.kinds(); got != "step_start text step_finish result" {
		t.Error(got)
	}
}

// TestResultAlways: whatever goes wrong, the last line is a result that says so.
func TestResultAlways(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/bin", []byte{0, 1, 2}, 0o600); err != nil {
		t.Fatal(err)
	}
	status := func(s string) string { return `{"turns":[{"steps":[{"fault":` + s + `}]}]}` }
	tests := map[string]struct {
		script string
		args   []string
		code   cli.ExitCode
		says   string
	}{
		"model":          {hello, []string{"-m", "mock/mian", "hi"}, cli.ExitUsage, "mock/main"},
		"no provider":    {hello, []string{"-m", "main", "hi"}, cli.ExitUsage, "PROVIDER/MODEL"},
		"agent":          {hello, []string{"--agent", "pln", "hi"}, cli.ExitUsage, "plan"},
		"session":        {hello, []string{"-s", "ses_nope", "hi"}, cli.ExitUsage, "ses_nope"},
		"session's form": {hello, []string{"-s", "nope", "hi"}, cli.ExitUsage, "must start with"},
		"continue":       {hello, []string{"-c", "hi"}, cli.ExitUsage, "no session in"},
		"flag":           {hello, []string{"--bogus", "hi"}, cli.ExitUsage, "bogus"},
		"empty":          {hello, []string{" "}, cli.ExitUsage, "empty"},
		"ask":            {hello, []string{"--ask=maybe", "hi"}, cli.ExitUsage, "--ask"},
		"ask's wait":     {hello, []string{"--ask=wait:x", "hi"}, cli.ExitUsage, "--ask"},
		"budget":         {hello, []string{"--budget-usd=lots", "hi"}, cli.ExitUsage, "--budget-usd"},
		"negative":       {hello, []string{"--budget-turns=-1", "hi"}, cli.ExitUsage, "--budget-turns"},
		"no turns":       {hello, []string{"--budget-turns=0", "hi"}, cli.ExitUsage, "--budget-turns"},
		"no tokens":      {hello, []string{"--budget-tokens=0", "hi"}, cli.ExitUsage, "--budget-tokens"},
		"no time":        {hello, []string{"--budget-time=0s", "hi"}, cli.ExitUsage, "--budget-time"},
		"empty model":    {hello, []string{"-m", "", "hi"}, cli.ExitUsage, "--model is empty"},
		"record":         {hello, []string{"--record=nope/x", "hi"}, cli.ExitUsage, "--record"},
		"record there":   {hello, []string{"--record=.", "hi"}, cli.ExitUsage, "--record"},
		"file":           {hello, []string{"-f", "nope.txt", "hi"}, cli.ExitUsage, "nope.txt"},
		"binary":         {hello, []string{"-f", "bin", "hi"}, cli.ExitUsage, "binary"},
		"dir":            {hello, []string{"--dir", "nope", "hi"}, cli.ExitUsage, "nope"},
		"key": {
			status(`{"kind":"status","status":401,"message":"bad key"}`),
			[]string{"hi"},
			cli.ExitProvider,
			"bad key",
		},
		"quota": {
			status(`{"kind":"status","status":402,"message":"no money"}`),
			[]string{"hi"},
			cli.ExitProvider,
			"no money",
		},
		"refused": {
			status(`{"kind":"status","status":400,"message":"bad thing"}`),
			[]string{"hi"},
			cli.ExitProvider,
			"bad thing",
		},
		"denied": {editing, []string{"hi"}, cli.ExitDenied, "edit"},
		"fail":   {editing, []string{"--ask=fail", "hi"}, cli.ExitDenied, "edit"},
		"turns": {
			`{"turns":[{"repeat":true,"steps":[{"call":{"id":"c","name":"read","arguments":{}}}]}]}`,
			[]string{"--budget-turns=2", "hi"},
			cli.ExitBudget,
			"budget",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sh := &shell{world: newWorld(t, tt.script), dir: dir}
			o := sh.run(append([]string{"run", "--format=json"}, tt.args...)...)
			r := o.result(t)
			if r.ExitCode != tt.code || !r.IsError || r.Error == nil ||
				!strings.Contains(r.Error.Message+r.Error.Hint, tt.says) {
				t.Errorf("%+v %+v", r, r.Error)
			}
			if strings.Count(o.stdout.String(), `{"type":"result"`) != 1 {
				t.Error("more than one result")
			}
		})
	}
}

func TestRunDenied(t *testing.T) {
	sh := &shell{world: newWorld(t, editing)}
	sh.run("run", "Change it").want(t, cli.ExitDenied, "Changing.\nDone.\n", `→ edit a.txt
! no terminal is available, so permission requests are denied; see --ask
✗ edit a.txt: permission denied for edit [a.txt]: asks are denied in this run (--ask=deny); go on without it, or say what you would need
cairn: a permission was denied: edit
No terminal was available for questions. Use --ask=allow or --ask=wait:5m, or add a rule to the configuration.
mock/main · <ses> · continue with: cairn run -s <ses> "…"
`)
}

func TestRunAllowed(t *testing.T) {
	sh := &shell{world: newWorld(t, editing)}
	sh.run("run", "--ask=allow", "Change it").want(t, cli.ExitOK, "Changing.\nDone.\n",
		"→ edit a.txt\n✓ edit a.txt\nmock/main · <ses> · continue with: cairn run -s <ses> \"…\"\n")
}

func TestRunStdin(t *testing.T) {
	w := newWorld(t, hello)
	sh := &shell{world: w, stdin: "from the pipe\n"}
	if o := sh.run("run", "--title", "A title", "before", "-"); o.code != 0 {
		t.Fatal(o.stderr.String())
	}
	show := sh.run("session", "show")
	if got := show.stdout.String(); !strings.Contains(got, "before from the pipe\n") ||
		!strings.HasPrefix(got, "A title\n") {
		t.Error(got)
	}
	if o := sh.run("run", "-c", "again"); o.code != 0 {
		t.Fatal(o.stderr.String())
	}
	if got := sh.run("session", "list", "--json").stdout.String(); strings.Count(got, `"id": "ses_`) != 1 {
		t.Error(got)
	}
}

// TestLostConnection: the connection breaks in the middle of the answer. Nothing is said twice, nothing is left out,
// and there is one prompt.
func TestLostConnection(t *testing.T) {
	w := newWorld(
		t,
		`{"turns":[{"every":"20ms","steps":[{"reasoning":["One ","two ","three."]},{"gate":"g"},{"text":["Four."]}]}]}`,
	)
	sh := &shell{world: w}
	cuts, broken := 0, 0
	sh.onOut = func(s string) {
		switch {
		case cuts == 0 && strings.HasPrefix(s, "One"): // within a block
			cuts, broken = 1, broken+w.lose()
		case cuts == 1 && strings.Contains(s, "three."): // between two, unless the block arrived before the first cut
			cuts, broken = 2, broken+w.lose()
			close(w.player.Gates["g"])
		}
	}
	o := sh.run("run", "--thinking", "Count")
	if o.code != 0 || o.stdout.String() != "Four.\n" || strings.Count(o.stderr.String(), "One two three.\n") != 1 {
		t.Errorf("exit %d: %q\n%s", o.code, o.stdout.String(), o.stderr.String())
	}
	if w.opens != broken+1 || broken == 0 {
		t.Errorf("%d connections, of which %d broke", w.opens, broken)
	}
	sh.onOut = nil
	if got := sh.run("events", "last", "--json").stdout.String(); strings.Count(got, "prompt.admitted") != 1 {
		t.Error(got)
	}
}

// TestOwnerReplaced: the owner leaves in order in the middle of the work, and the next one picks up nothing by itself.
// The run sees to it that its own work is done.
func TestOwnerReplaced(t *testing.T) {
	for _, flag := range []string{"--steer", "--queue"} {
		t.Run(flag, func(t *testing.T) {
			w := newWorld(
				t,
				`{"turns":[{"steps":[{"reasoning":"Half"},{"gate":"g"}]},{"repeat":true,"steps":[{"text":"All of it."}]}]}`,
			)
			sh := &shell{world: w}
			var replaced sync.WaitGroup
			once := false
			sh.onOut = func(s string) {
				if !once && strings.Contains(s, "Half") {
					once = true
					replaced.Go(func() { w.replace(t) })
				}
			}
			o := sh.run("run", "--thinking", flag, "Tell me")
			replaced.Wait()
			if o.code != 0 || o.stdout.String() != "All of it.\n" {
				t.Errorf("exit %d: %q\n%s", o.code, o.stdout.String(), o.stderr.String())
			}
		})
	}
}

// TestTimeout and the signals need a clock that can be waited for: they run in a bubble.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{world: newWorld(t, `{"turns":[{"steps":[{"text":"Let me think."},{"delay":"1h"}]}]}`)}
		sh.run("run", "--timeout=90s", "hi").want(t, cli.ExitTimeout, "Let me think.\n",
			"cairn: --timeout 1m30s passed; the session was interrupted\n"+
				"mock/main · <ses> · continue with: cairn run -s <ses> \"…\"\n")
	})
}

func TestSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{
			world:   newWorld(t, `{"turns":[{"steps":[{"text":"Let me think."},{"delay":"1h"}]}]}`),
			signals: make(chan os.Signal, 4),
		}
		sent := false
		sh.onOut = func(string) {
			if !sent {
				sent = true
				sh.signals <- os.Interrupt
			}
		}
		o := sh.run("run", "--format=json", "hi")
		if o.code != 0 && o.kinds() == "" {
			t.Error("nothing was said")
		}
		r := o.result(t)
		if r.ExitCode != cli.ExitInterrupted || r.SessionID == "" {
			t.Errorf("%+v", r)
		}
		if got := o.kinds(); got != "step_start text error result" {
			t.Error(got)
		}
	})
}

// TestCutOff: an answer that the model's limit cut off is said to be.
func TestCutOff(t *testing.T) {
	sh := &shell{world: newWorld(t, `{"turns":[{"repeat":true,"steps":[{"text":"And then"}],"finish":"length"}]}`)}
	o := sh.run("run", "--format=json", "hi")
	if r := o.result(t); r.Finish != "length" || o.code != 0 ||
		!strings.Contains(o.stderr.String(), "the answer is cut off") {
		t.Errorf("%+v %s", r, o.stderr.String())
	}
	if o := sh.run("run", "hi"); !strings.Contains(o.stderr.String(), "the answer is cut off") {
		t.Error(o.stderr.String())
	}
}

// TestWaitingIsSaid: a program's log names what waits and how to answer.
func TestWaitingIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sh := &shell{world: newWorld(t, editing)}
		o := sh.run("run", "--format=json", "--ask=wait:5s", "hi")
		if !strings.Contains(
			unnamed(o.stderr.String()),
			"! waiting for a permission: edit a.txt; answer with: cairn permission reply <per> once|always|reject\n",
		) {
			t.Error(o.stderr.String())
		}
	})
}
