package engine

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/script"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/plan"
	"github.com/cairn-dev/cairn/internal/tool/task"
)

var update = flag.Bool("update", false, "write what the scenarios show as what they must show")

// TestScenarios plays every file of testdata/scenario. A file is a txtar with the model's script ("model"), its
// surroundings ("setup", optional), the commands ("do"), and the expected outcome ("want"): the events after each
// command, and at the end the requests to the model. Time is fake. After each scenario the log is folded again and
// compared.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/scenario/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playFile(t, file, nil) })
	}
}

// TestTaskHaltedBeforeTheWait plays subagents whose work is over before their callers begin to wait for it.
func TestTaskHaltedBeforeTheWait(t *testing.T) {
	playFile(t, "testdata/scenario/budget_tree.txt", func(w *world) {
		wait := w.engine.subagents.Wait
		w.engine.subagents.Wait = func(ctx context.Context, id session.ID) error {
			_ = wait(ctx, id)
			return wait(ctx, id)
		}
	})
}

// playFile plays a scenario and compares what happened. prepare, which may be nil, changes the world once it has started.
func playFile(t *testing.T, file string, prepare func(*world)) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal("read the scenario:", err)
	}
	section := func(name string) *txtar.File {
		for i := range archive.Files {
			if archive.Files[i].Name == name {
				return &archive.Files[i]
			}
		}
		return &txtar.File{}
	}
	s := script.Script{Turns: []script.Turn{{Repeat: true, Steps: []script.Step{{Text: script.Chunks{"ok"}}}}}}
	if model := section("model").Data; len(model) > 0 {
		if s, err = script.Parse(model); err != nil {
			t.Fatal("parse the script:", err)
		}
	}
	var got string
	synctest.Test(t, func(t *testing.T) {
		p := &player{t: t, w: newWorld(t, s), seen: map[session.ID]int64{}}
		for line := range strings.Lines(string(section("setup").Data)) {
			p.setup(strings.Fields(line))
		}
		p.w.start() // with the limits
		if prepare != nil {
			prepare(p.w)
		}
		p.play(string(section("do").Data))
		got = p.finish()
	})
	if want := section("want"); string(want.Data) != got {
		if !*update {
			t.Errorf("-want +got:\n%s", cmp.Diff(strings.Split(string(want.Data), "\n"), strings.Split(got, "\n")))
			return
		}
		if want.Name == "" {
			archive.Files = append(archive.Files, txtar.File{Name: "want"})
		}
		section("want").Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal("write the scenario:", err)
		}
	}
}

// player plays one scenario.
type player struct {
	t       *testing.T
	w       *world
	ids     labels
	out     strings.Builder
	seen    map[session.ID]int64
	order   []session.ID
	pending []func() // what to report of commands that were left running
	damaged bool     // rows were changed behind the log's back
}

// setup understands
//
//	agent NAME [steps=N] [model=P/M] [deny=ACTION] [ask=ACTION] [allow=ACTION] [skills=TEXT]
//	limit NAME=N …
//	source KEY VALUE [removable] [unreadable]
//	rule ACTION RESOURCE EFFECT
//	hosted NAME …: what the vendor of model one runs itself
//	forms beside | alone: the vendor of model one holds answers to a schema
//	unheld KEYWORD: but refuses one with that keyword
//	toolless: model one calls no tools
//	window CONTEXT OUTPUT [NAME=N …]: of all models in tokens, with automatic compaction unless manual is given;
//	keep=N, reserved=N, stop, eager
//	noagent NAME
//	bash: there is a tool that runs commands
//	planning: there are the agent plan, and the tools that switch to it and back
//	subagents NAME …: there is the tool task with these, which may be agents of lines before
func (p *player) setup(f []string) {
	if len(f) == 0 {
		return
	}
	switch f[0] {
	case "agent":
		p.w.agents[f[1]] = p.agent(f[1], f[2:])
	case "limit":
		for _, kv := range f[1:] {
			p.limit(kv)
		}
	case "source":
		s := &source{key: f[1], value: f[2]}
		for _, flag := range f[3:] {
			s.removable = s.removable || flag == "removable"
			s.unreadable = s.unreadable || flag == "unreadable"
		}
		p.w.sources = append(p.w.sources, s)
	case "rule":
		p.w.layers[0].Rules = append(
			p.w.layers[0].Rules, session.Rule{Action: f[1], Resource: f[2], Effect: session.Effect(f[3])},
		)
	case "extension": // see world.extend
		p.w.extend(f[1:])
	case "bash":
		if _, err := p.w.tools.Register(commands()); err != nil {
			p.t.Fatal("register the tools:", err)
		}
	case "subagents":
		var agents []session.Agent
		for _, name := range f[1:] {
			a, known := p.w.agents[name]
			if !known {
				a = p.agent(name, nil)
			}
			a.Mode = session.ModeSubagent
			p.w.agents[name], agents = a, append(agents, a)
		}
		if _, err := p.w.tools.Register(task.New(agents)...); err != nil {
			p.t.Fatal("register the tools:", err)
		}
	case "planning": // there are the agent plan and the tools that switch to it and back
		agents := []session.Agent{p.agent(session.AgentPlan, nil), p.w.agents[session.AgentBuild]}
		p.w.agents[session.AgentPlan], p.w.planPath = agents[0], "/work/plan.md"
		if _, err := p.w.tools.Register(plan.New(agents)...); err != nil {
			p.t.Fatal("register the tools:", err)
		}
	case "forms":
		p.w.models["test/one"].Forms = map[string]llm.SchemaSupport{
			"alone": llm.SchemaWithoutTools, "beside": llm.SchemaSupported,
		}[f[1]]
	case "unheld":
		p.w.models["test/one"].SupportsSchema = func(schema jsontext.Value) bool {
			return !strings.Contains(string(schema), f[1])
		}
	case "window":
		p.window(f[1:])
	case "toolless":
		p.w.models["test/one"].NoTools = true
	case "hosted":
		for _, name := range f[1:] {
			def := llm.ToolDefinition{Name: name, Hosted: jsontext.Value(`{"type":"` + name + `"}`)}
			p.w.models["test/one"].Hosted = append(p.w.models["test/one"].Hosted, def)
		}
	default:
		p.t.Fatalf("setup: %q", f)
	}
}

func (p *player) agent(name string, options []string) session.Agent {
	a := session.Agent{ID: name, Mode: session.ModePrimary, System: "You are " + name + "."}
	for _, o := range options {
		k, v, _ := strings.Cut(o, "=")
		switch k {
		case "steps":
			a.Steps = p.number(v)
		case "skills":
			a.Description = v
		case "model":
			a.Model = modelRef(v)
		case "deny", "ask", "allow":
			a.Permissions = append(a.Permissions, session.Rule{Action: v, Resource: "*", Effect: session.Effect(k)})
		default:
			p.t.Fatalf("agent: %q", o)
		}
	}
	return a
}

func (p *player) window(f []string) {
	for _, m := range p.w.models {
		m.Window = scope.Limits{Context: int64(p.number(f[0])), Output: int64(p.number(f[1]))}
	}
	c := scope.CompactionSettings{Auto: true, Turns: -1}
	for _, o := range f[2:] {
		switch k, v, _ := strings.Cut(o, "="); k {
		case "keep":
			c.Keep = int64(p.number(v))
		case "reserved":
			c.Reserved = int64(p.number(v))
		case "stop":
			c.Stop = true
		case "manual":
			c.Auto = false
		case "eager":
			c.Prune = scope.PruneEager
		default:
			p.t.Fatalf("window: %q", o)
		}
	}
	p.w.compaction = c
}

func modelRef(s string) *session.ModelRef {
	provider, id, _ := strings.Cut(s, "/")
	return &session.ModelRef{ProviderID: provider, ID: id}
}

func (p *player) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		p.t.Fatal("read a number:", err)
	}
	return n
}

func (p *player) limit(kv string) {
	k, v, _ := strings.Cut(kv, "=")
	l := &p.w.limits
	switch k {
	case "turns":
		l.Turns = p.number(v)
	case "attempts":
		l.Attempts = p.number(v)
	case "pending":
		l.Pending = p.number(v)
	case "steers":
		l.SteerBatch = p.number(v)
	case "checkbytes":
		l.CheckBytes = p.number(v)
	case "calltools":
		l.CallTools = p.number(v)
	case "sessions":
		l.Sessions = p.number(v)
	case "tools":
		l.Tools = p.number(v)
	case "depth":
		l.TaskDepth = p.number(v)
	case "children":
		l.Children = p.number(v)
	default:
		p.t.Fatalf("limit %q", kv)
	}
}

// play runs the lines in order and lets all goroutines block after each. The events after a line that begins with "~"
// have no fixed order and are shown sorted, without seqs.
func (p *player) play(do string) {
	for line := range strings.Lines(do) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fmt.Fprintf(&p.out, "> %s\n", line)
		line, unordered := strings.CutPrefix(line, "~ ")
		p.command(words(line))
		synctest.Wait()
		p.events(unordered)
	}
}

// words splits at spaces outside of quotes.
func words(line string) []string {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err == nil {
				s, _ := strconv.Unquote(quoted)
				out, line = append(out, s), line[len(quoted):]
				continue
			}
		}
		word, rest, _ := strings.Cut(line, " ")
		out, line = append(out, word), rest
	}
	return out
}

// id returns the session that "@name" means and the words after it; the default is ses_a.
func (p *player) id(f []string) (session.ID, []string) {
	id := session.ID("ses_a")
	if len(f) > 0 && strings.HasPrefix(f[0], "@") {
		id = session.ID("ses_" + f[0][1:])
		if child := p.named(f[0][1:]); strings.HasPrefix(child, "ses_") {
			id = session.ID(child)
		}
		f = f[1:]
	}
	if !slices.Contains(p.order, id) {
		p.order = append(p.order, id)
		p.seen[id] = -1
	}
	return id, f
}

// command runs one line of a scenario; see the cases.
func (p *player) command(f []string) {
	ctx, e := context.Background(), p.w.engine
	id, args := p.id(f[1:])
	switch f[0] {
	case "create":
		r := admit.CreateRequest{ID: id, Location: session.Location{Directory: "/work"}, Title: "test"}
		for _, o := range args {
			k, v, _ := strings.Cut(o, "=")
			switch k {
			case "title":
				r.Title = v
			case "agent":
				r.Agent = v
			case "model":
				r.Model = modelRef(v)
			case "open":
				r.Open = true
			case "dir":
				r.Location.Directory = v
			case "parent":
				r.ParentID = session.ID("ses_" + v)
			case "usd", "tokens", "wall", "turns":
				r.Budget = p.budget(k, v)
			}
		}
		_, err := e.Commands.CreateSession(ctx, r)
		p.report(err)
	case "prompt": // [queue] [hold] [noreply] [pause] [asks=POLICY] [id=MSG] [format=SCHEMA]
		// [retries=N] [system=TEXT] TEXT, or [agent=NAME] [model=P/M] [subtask=…] [mention=AGENT]
		r := admit.PromptRequest{SessionID: id, Prompt: session.Prompt{Text: args[len(args)-1]}}
		for _, o := range args[:len(args)-1] {
			k, v, _ := strings.Cut(o, "=")
			switch k {
			case "queue":
				r.Delivery = session.Queue
			case "agent":
				r.Prompt.Agent = v
			case "model":
				r.Prompt.Model = modelRef(v)
			case "hold":
				r.Hold = true
			case "noreply":
				r.NoReply = true
			case "pause":
				r.Recovery = session.RecoveryPause
			case "asks":
				r.Asks = session.AskPolicy(v)
			case "id":
				r.ID = session.MessageID(v)
			case "format":
				r.Prompt.Format = &session.Format{Schema: jsontext.Value(v)}
			case "system":
				r.Prompt.System = v
			case "retries":
				r.Prompt.Format.Retries = p.number(v)
			case "subtask": // AGENT:PROMPT[:COMMAND[:MODEL]]
				r.Prompt.Subtasks = append(r.Prompt.Subtasks, subtaskOf(v))
			case "mention":
				r.Prompt.Agents = append(r.Prompt.Agents, session.AgentMention{Name: v})
			}
		}
		in, err := e.Commands.AdmitPrompt(ctx, r)
		if err == nil && r.ID != "" {
			fmt.Fprintf(&p.out, "  receipt: admitted %d\n", in.AdmittedSeq)
		}
		p.report(err)
	case "background": // resume | wait | interrupt: leave it running, report when it ends
		p.background(f[1], id)
	case "move": // DIRECTORY [other]: reports when it ends, like background
		r := admit.MoveRequest{SessionID: id, Directory: args[0], OtherProject: len(args) > 1}
		p.runBeside("move", func() error { return e.Commands.MoveSession(ctx, r) })
	case "where":
		s, err := e.journal.ReadSession(ctx, id)
		p.report(err)
		fmt.Fprintf(&p.out, "  in %s of %s\n", s.Location.Directory, s.ProjectID)
	case "interrupt":
		p.report(e.Interrupt(ctx, id))
	case "resume":
		p.report(e.Resume(ctx, id))
	case "gate": // let one step of the model, or one tool, pass
		select {
		case p.w.player.Gates[args[0]] <- struct{}{}:
		default:
			p.report(fmt.Errorf("no goroutine waits at %s", args[0]))
		}
	case "release":
		select {
		case p.w.gates[args[0]] <- struct{}{}:
		default:
			p.report(fmt.Errorf("no goroutine waits at %s", args[0]))
		}
	case "sleep":
		d, err := time.ParseDuration(args[0])
		p.report(err)
		time.Sleep(d)
	case "reply": // N once|always|reject [MESSAGE]
		p.reply(id, args)
	case "answer": // LABEL: to the only question
		rows, err := e.Asks.List(ctx, id)
		p.report(err)
		p.report(e.Asks.AnswerQuestions(ctx, id, rows[0].ID, [][]string{{args[0]}}))
	case "asks":
		rows, err := e.Asks.List(ctx, id)
		p.report(err)
		for _, a := range rows {
			fmt.Fprintf(&p.out, "  pending %s %s %v\n", a.ID, a.Action, a.Resources)
		}
	case "agent":
		p.report(e.Commands.SwitchAgent(ctx, id, args[0]))
	case "model":
		p.report(e.Commands.SwitchModel(ctx, id, *modelRef(args[0])))
	case "rename":
		p.report(e.Commands.ChangeSession(ctx, id, admit.SessionChange{Title: &args[0]}))
	case "withdraw":
		p.report(e.Commands.WithdrawPrompt(ctx, id, session.MessageID(args[0])))
	case "redirect":
		p.report(
			e.Commands.ChangePrompt(
				ctx, id, session.MessageID(args[0]), admit.PromptChange{Delivery: session.Delivery(args[1])},
			),
		)
	case "edit":
		p.report(
			e.Commands.ChangePrompt(
				ctx, id, session.MessageID(args[0]), admit.PromptChange{Prompt: &session.Prompt{Text: args[1]}},
			),
		)
	case "shell": // [id=MSG] [agent=NAME] COMMAND
		r := admit.ShellRequest{SessionID: id, Command: args[len(args)-1]}
		for _, o := range args[:len(args)-1] {
			switch k, v, _ := strings.Cut(o, "="); k {
			case "id":
				r.ID = session.MessageID(v)
			case "agent":
				r.Agent = v
			}
		}
		p.shell(r)
	case "remove": // MESSAGE [PART]
		if len(args) > 1 {
			p.report(e.Commands.RemovePart(ctx, id, session.MessageID(p.named(args[0])), session.PartID(p.named(args[1]))))
			return
		}
		p.report(e.Commands.RemoveMessage(ctx, id, session.MessageID(p.named(args[0]))))
	case "rewrite": // MESSAGE [PART] TEXT
		if len(args) > 2 {
			p.report(
				e.Commands.EditPart(ctx, id, session.MessageID(p.named(args[0])), session.PartID(p.named(args[1])), args[2]),
			)
			return
		}
		p.report(e.Commands.EditPrompt(ctx, id, session.MessageID(p.named(args[0])), "", session.Prompt{Text: args[1]}))
	case "reorder":
		var ms []session.MessageID
		for _, a := range args {
			ms = append(ms, session.MessageID(a))
		}
		p.report(e.Commands.ReorderPrompts(ctx, id, ms))
	case "budget":
		k, v, _ := strings.Cut(args[0], "=")
		p.report(e.Commands.SetBudget(ctx, id, p.budget(k, v)))
	case "status":
		s := e.Status(id)
		fmt.Fprintf(&p.out, "  status %s attempt=%d\n", s.Type, s.Attempt)
	case "rule": // ACTION RESOURCE EFFECT: a rule that the user adds to the configuration
		p.w.mu.Lock()
		p.setup(f)
		p.w.mu.Unlock()
	case "suffix": // TEXT: what extensions add to the system context ends so from now on
		p.w.mu.Lock()
		p.w.systemSuffix = " " + strings.Join(args, " ")
		p.w.mu.Unlock()
	case "taken", "renamed": // TO:  TO: the sessions' project is there now, with taken another one is where it was
		p.w.mu.Lock()
		p.w.movedTo, p.w.isGone = args[0], f[0] == "renamed"
		p.w.mu.Unlock()
	case "record": // store the project record of the sessions, as the host does
		p.report(p.w.store.Update(ctx, store.Durable, func(tx store.Tx) error {
			return tx.PutProject(store.Project{ID: "prj_test", Path: "/work"})
		}))
	case "undo": // the newest prompt
		_, err := e.Commands.StageRevert(ctx, id, undo.Target{Before: true})
		p.report(err)
	case "redo":
		_, err := e.Commands.ClearRevert(ctx, id)
		p.report(err)
	case "drop-tools": // as if the project configured none
		p.w.mu.Lock()
		p.w.tools = tool.NewRegistry(tool.Config{})
		p.w.mu.Unlock()
	case "drop-agent":
		p.w.mu.Lock()
		delete(p.w.agents, args[0])
		p.w.mu.Unlock()
	case "drop-model":
		p.w.mu.Lock()
		delete(p.w.models, args[0])
		p.w.mu.Unlock()
	case "source": // KEY VALUE | KEY gone | KEY unreadable | KEY readable
		p.source(args)
	case "compact":
		p.report(
			e.journal.AppendFacts(
				ctx, id, &session.CompactionEnded{MessageID: e.journal.NewMessageID(), Reason: "manual", Text: args[0]},
			),
		)
	case "summarize": // [id=MSG] [model=MODEL] [proceed] [INSTRUCTIONS]
		r := admit.CompactionAdmission{SessionID: id}
		if len(args) > 0 && strings.HasPrefix(args[0], "id=") {
			r.ID, args = session.MessageID(strings.TrimPrefix(args[0], "id=")), args[1:]
		}
		if len(args) > 0 && strings.HasPrefix(args[0], "model=") {
			r.Request.Model, args = modelRef(strings.TrimPrefix(args[0], "model=")), args[1:]
		}
		if len(args) > 0 && args[0] == "proceed" {
			r.Request.Proceed, args = true, args[1:]
		}
		r.Request.Instructions = strings.Join(args, " ")
		_, err := e.Commands.AdmitCompaction(ctx, r)
		p.report(err)
	case "uncompact":
		p.report(e.Commands.UndoCompaction(ctx, id))
	case "snapshot": // damage what the epoch is compared with
		p.damaged = true
		err := p.w.store.Update(ctx, store.Durable, func(tx store.Tx) error {
			ep, _, err := tx.Epoch(id)
			if err != nil {
				return err
			}
			ep.Snapshot = []byte(`{"core/date":7}`)
			return tx.PutEpoch(id, ep)
		})
		p.report(err)
	case "break":
		p.w.mu.Lock()
		p.w.broken = session.Errorf(session.CodeInvalid, "cairn.json line 3: what is that?")
		p.w.mu.Unlock()
	case "mend":
		p.w.mu.Lock()
		p.w.broken = nil
		p.w.mu.Unlock()
	case "full", "room": // the store can write nothing, and can again
		p.w.full.Store(f[0] == "full")
	case "kill":
		p.w.kill(false)
	case "powercut":
		p.w.kill(true)
	case "shutdown":
		p.w.close(p.t)
		p.w.start()
	case "recover":
		left, err := p.w.engine.Recover(ctx)
		p.report(err)
		for _, l := range left {
			if l.Recovery == session.RecoveryPause {
				fmt.Fprintf(&p.out, "  %s waits\n", l.SessionID)
			}
		}
	case "selected": // the session's agent and model
		s, err := e.journal.ReadSession(ctx, id)
		p.report(err)
		fmt.Fprintf(&p.out, "  selected agent=%s model=%v\n", s.Agent, s.Model)
	case "spent": // the session's totals
		s, err := e.journal.ReadSession(ctx, id)
		p.report(err)
		fmt.Fprintf(&p.out, "  spent %v tokens=%d\n", s.Cost, s.Tokens.Sum())
	case "effects":
		fmt.Fprintf(&p.out, "  effects %v\n", p.w.effects)
	default:
		p.t.Fatalf("do: %q", f)
	}
}

func (p *player) budget(k, v string) *session.Budget {
	b := &session.Budget{}
	switch k {
	case "usd":
		amount, err := session.ParseUSD(v)
		p.report(err)
		b.USD = amount
	case "tokens":
		b.Tokens = int64(p.number(v))
	case "wall":
		b.Wall = int64(p.number(v))
	case "turns":
		b.Turns = p.number(v)
	}
	return b
}

func (p *player) source(args []string) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	for _, s := range p.w.sources {
		if s.key != args[0] {
			continue
		}
		switch args[1] {
		case "gone":
			s.gone = true
		case "unreadable":
			s.unreadable = true
		case "readable":
			s.unreadable = false
		default:
			s.value, s.gone = args[1], false
		}
		return
	}
	p.w.sources = append(p.w.sources, &source{key: args[0], value: args[1]})
}

func (p *player) reply(id session.ID, args []string) {
	rows, err := p.w.engine.Asks.List(context.Background(), id)
	p.report(err)
	n := p.number(args[0]) - 1
	if n >= len(rows) {
		p.report(fmt.Errorf("there are %d asks", len(rows)))
		return
	}
	answer := ask.UserReply{Reply: session.Reply(args[1])}
	switch {
	case len(args) > 2 && answer.Reply == session.ReplyAlways:
		answer.Lifetime, answer.Patterns = session.Lifetime(args[2]), args[3:]
	case len(args) > 2:
		answer.Message = args[2]
	}
	p.report(p.w.engine.Asks.Reply(context.Background(), id, rows[n].ID, answer))
}

func (p *player) background(what string, id session.ID) {
	if f := strings.Fields(what); len(f) == 1 {
		run := map[string]func(context.Context, session.ID) error{
			"resume": p.w.engine.Resume, "wait": p.w.engine.Wait, "interrupt": p.w.engine.Interrupt,
		}[what]
		p.runBeside(what, func() error { return run(context.Background(), id) })
	}
}

// runBeside leaves run running, and reports when it has ended.
func (p *player) runBeside(what string, run func() error) {
	done := make(chan error, 1)
	go func() { done <- run() }()
	p.pending = append(p.pending, func() {
		select {
		case err := <-done:
			fmt.Fprintf(&p.out, "  %s ended: %v\n", what, err)
		default:
			fmt.Fprintf(&p.out, "  %s still runs\n", what)
		}
	})
}

// shell runs a shell command of the user. An invalid one is reported at once; the outcome is an event.
func (p *player) shell(r admit.ShellRequest) {
	done := make(chan error, 1)
	go func() {
		_, err := p.w.engine.Commands.RunShell(context.Background(), r)
		done <- err
	}()
	synctest.Wait()
	select {
	case err := <-done:
		p.report(err)
	default:
	}
}

// named returns the id that was shown under the name, else the name itself.
func (p *player) named(name string) string {
	p.ids.replace(p.out.String())
	for id, n := range p.ids.names {
		if n == name {
			return id
		}
	}
	return name
}

func (p *player) report(err error) {
	if err != nil {
		fmt.Fprintf(&p.out, "  error: %v\n", err)
	}
}

// findChildren adds the sessions of tasks to those whose events are shown.
func (p *player) findChildren() {
	p.report(p.w.store.View(context.Background(), func(r store.Reader) error {
		all, err := store.ReadSessions(r, store.SessionQuery{Archived: true, Oldest: true})
		for _, s := range all {
			if s.ParentID != "" && !slices.Contains(p.order, s.ID) {
				p.order = append(p.order, s.ID)
				p.seen[s.ID] = -1
			}
		}
		return err
	}))
}

// events shows the events since the last call.
func (p *player) events(unordered bool) {
	p.findChildren()
	for _, id := range p.order {
		err := p.w.store.View(context.Background(), func(r store.Reader) error {
			rows, err := r.Events(id, p.seen[id], 0)
			var lines []string
			for _, row := range rows {
				at := ""
				if id != "ses_a" {
					if at = string(id) + ":"; !generated.MatchString(at) {
						at = strings.TrimPrefix(at, "ses_")
					}
				}
				lines = append(lines, fmt.Sprintf("  %s%s\n", at, traced(row)))
				p.seen[id] = row.Seq
			}
			if unordered {
				lines = sorted(lines)
			}
			p.out.WriteString(strings.Join(lines, ""))
			return err
		})
		p.report(err)
	}
}

// finish closes the process, shows the requests, and proves the log.
func (p *player) finish() string {
	for _, report := range p.pending {
		report()
	}
	if active := p.w.engine.Active(); len(active) > 0 {
		fmt.Fprintf(&p.out, "still at work: %v\n", active)
	}
	p.w.close(p.t)
	p.events(false)
	for i, r := range p.w.player.ListRequests() {
		fmt.Fprintln(&p.out, asked(i+1, r))
	}
	for _, line := range p.w.shown {
		fmt.Fprintln(&p.out, line)
	}
	if err := p.w.doubled(); err != nil {
		p.t.Error(err)
	}
	if !p.damaged {
		prove(p.t, p.w)
		proveExports(p.t, p.w)
	}
	return p.ids.replace(p.out.String())
}

// sorted removes the seqs from the lines and sorts them.
func sorted(lines []string) []string {
	for i, line := range lines {
		_, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		lines[i] = "  * " + what + "\n"
	}
	slices.Sort(lines)
	return lines
}

var _ llm.Model = (*script.Player)(nil)
