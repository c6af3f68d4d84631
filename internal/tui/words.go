package tui

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/peer"
)

// help are the words.
const help = `/new               begin another session
/sessions [N]      list the sessions of this directory, or go on with one
/agents [NAME]     list who can work, or choose who does
/models [MODEL]    list what can answer, or choose what does
/abort             stop the work, as Ctrl-C
/quit              leave, as Ctrl-D; the work goes on
/NAME ARGUMENTS    a command of the server's
What begins otherwise is a prompt. While the session works it waits for its turn.`

// listed bounds what a list shows.
const listed = 30

// typed takes a line.
func (t *talk) typed(ctx context.Context, l typed) {
	if l.ended {
		t.ended = true
		t.leaving = t.Person
		if l.err != nil {
			t.Screen.Note("the input cannot be read on: " + l.err.Error())
		}
		return
	}
	t.warned = false
	t.Screen.Typed()
	text := strings.TrimSpace(l.text)
	word, rest, _ := strings.Cut(text, " ")
	isWord := strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/") // else it is a path
	switch {
	case len(t.asks) > 0 && !isWord && l.seen >= t.asked.Load(): // else it was typed before the ask was there
		t.answer(ctx, text)
	case text == "":
	case isWord:
		t.word(ctx, word[1:], strings.TrimSpace(rest))
	default:
		t.prompt(peer.Prompt{Parts: []peer.Part{{Type: "text", Text: text}}}, text)
	}
}

func (t *talk) word(ctx context.Context, word, about string) {
	switch word {
	case "help", "?":
		for l := range strings.Lines(help) {
			t.Screen.Line(strings.TrimSuffix(l, "\n"))
		}
	case "quit", "exit", "q":
		t.leaving = true
	case "abort":
		t.waiting = nil
		t.abort(ctx)
	case "new":
		t.room = newRoom("")
		t.Screen.Line("the next prompt begins a session")
	case "sessions":
		t.sessions(ctx, about)
	case "agents":
		t.agents(ctx, about)
	case "models":
		t.models(ctx, about)
	default:
		t.command(ctx, word, about)
	}
}

// list shows names to choose from by number.
func (t *talk) list(names, lines []string) {
	t.numbered = names
	for i, l := range lines[:min(len(lines), listed)] {
		t.Screen.Line(fmt.Sprintf("%3d  %s", i+1, l))
	}
	if more := len(lines) - listed; more > 0 {
		t.Screen.Line(fmt.Sprintf("     and %d more", more))
	}
	if len(lines) == 0 {
		t.Screen.Line("there are none")
	}
}

// pick is what is meant by a name, or by its number in the last list.
func (t *talk) pick(name string) string {
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(t.numbered) {
		return t.numbered[n-1]
	}
	return name
}

func (t *talk) sessions(ctx context.Context, which string) {
	if which != "" {
		which = t.pick(which)
		var s peer.Session
		t.call(ctx, func(ctx context.Context) (err error) { s, err = t.Client.Session(ctx, which); return err }, func() {
			t.room = newRoom(s.ID)
			t.unseen = true
			t.Screen.Line(s.Title + "  " + s.ID)
			t.lookAgain(ctx)
		})
		return
	}
	var all []peer.Session
	t.call(ctx, func(ctx context.Context) (err error) { all, err = t.Client.Sessions(ctx); return err }, func() {
		var ids, lines []string
		for _, s := range all {
			if s.ParentID == "" {
				ids, lines = append(ids, s.ID), append(lines, s.ID+"  "+s.Title)
			}
		}
		t.list(ids, lines)
	})
}

func (t *talk) agents(ctx context.Context, which string) {
	var all []peer.Agent
	t.call(ctx, func(ctx context.Context) (err error) { all, err = t.Client.Agents(ctx); return err }, func() {
		var names []string
		for _, x := range all {
			if x.Mode != "subagent" && !x.Hidden {
				names = append(names, x.Name)
			}
		}
		if which == "" {
			t.list(names, names)
		} else if t.choose(names, &which) {
			t.agent = which
		}
	})
}

// choose finds what is meant among the names, and tells.
func (t *talk) choose(names []string, which *string) bool {
	*which = t.pick(*which)
	if !slices.Contains(names, *which) {
		t.Screen.Note("there is no " + *which + " here")
		return false
	}
	t.Screen.Line("from the next prompt on: " + *which)
	return true
}

func (t *talk) models(ctx context.Context, which string) {
	var all []peer.Provider
	t.call(ctx, func(ctx context.Context) (err error) { all, err = t.Client.Providers(ctx); return err }, func() {
		var names []string
		for _, p := range all {
			for _, id := range slices.Sorted(maps.Keys(p.Models)) {
				names = append(names, p.ID+"/"+id)
			}
		}
		if which == "" {
			t.list(names, names)
		} else if t.choose(names, &which) {
			provider, model, _ := strings.Cut(which, "/")
			t.model = &peer.Model{ProviderID: provider, ModelID: model}
		}
	})
}

// command gives the prompt that the server has by that name.
func (t *talk) command(ctx context.Context, name, arguments string) {
	var all []peer.Named
	t.call(ctx, func(ctx context.Context) (err error) { all, err = t.Client.Commands(ctx); return err }, func() {
		if !slices.ContainsFunc(all, func(c peer.Named) bool { return c.Name == name }) {
			t.Screen.Note("there is no /" + name + "; /help lists what there is")
			return
		}
		t.prompt(peer.Prompt{Command: name, Arguments: arguments}, "/"+name+" "+arguments)
	})
}
