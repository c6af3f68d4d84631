package undo

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/spf13/cobra"
)

var errNoRevert = errors.New("nothing is taken back")

// newestMessages yields the messages of a session, newest first, those of a staged revert included.
func newestMessages(ctx context.Context, c *api.Client, id session.ID) iter.Seq2[session.Message, error] {
	return func(yield func(session.Message, error) bool) {
		q := api.MessageQuery{Limit: 200}
		for {
			page, err := c.Messages(ctx, id, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, m := range page.Data {
				if !yield(m, nil) {
					return
				}
			}
			if q.Cursor = page.Cursor.Next; q.Cursor == "" || len(page.Data) < q.Limit {
				return
			}
		}
	}
}

// isPrompt reports whether the message is what a user asked, or a command that the user ran.
func isPrompt(m session.Message) bool {
	switch m.(type) {
	case *session.User, *session.Shell:
		return true
	}
	return false
}

// describeMessage returns the beginning of a message for people.
func describeMessage(m session.Message) string {
	const width = 70
	switch m := m.(type) {
	case *session.User:
		return term.FirstLine(m.Text, width)
	case *session.Shell:
		return term.FirstLine("!"+m.Command, width)
	case *session.Assistant:
		for _, item := range m.Content {
			switch item := item.(type) {
			case *session.Text:
				if item.Text != "" {
					return term.FirstLine(item.Text, width)
				}
			case *session.Tool:
				return term.FirstLine(item.Name, width)
			}
		}
	}
	return ""
}

// findMessage returns the message that an id, the beginning of one, or the number of a prompt names.
func findMessage(ctx context.Context, c *api.Client, s *session.Session, name string) (session.MessageID, error) {
	if n, err := strconv.Atoi(name); err == nil {
		return findPrompt(ctx, c, s, n)
	}
	const minBeginning = 8
	var ids, begin []string
	for m, err := range newestMessages(ctx, c, s.ID) {
		if err != nil {
			return "", err
		}
		id := string(m.Meta().ID)
		if id == name {
			return m.Meta().ID, nil
		}
		ids = append(ids, id)
		if len(name) >= minBeginning && strings.HasPrefix(id, name) {
			begin = append(begin, id)
		}
	}
	if len(begin) == 1 {
		return session.MessageID(begin[0]), nil
	}
	missing := *session.NotFound("message", name)
	missing.Nearest = spelling.Nearest(name, ids, 3)
	return "", cli.NewExitError(cli.ExitUsage, &missing,
		"name a message of "+string(s.ID)+" by its id (cairn session show --json), or a prompt by its number")
}

// findPrompt returns the prompt with the number: 1 is the first one, -1 the newest.
func findPrompt(ctx context.Context, c *api.Client, s *session.Session, n int) (session.MessageID, error) {
	var prompts []session.MessageID
	for m, err := range newestMessages(ctx, c, s.ID) {
		if err != nil {
			return "", err
		}
		if _, ok := m.(*session.User); ok {
			prompts = append(prompts, m.Meta().ID)
		}
	}
	slices.Reverse(prompts)
	at := n - 1
	if n < 0 {
		at = len(prompts) + n
	}
	if n == 0 || at < 0 || at >= len(prompts) {
		return "", cli.NewExitError(cli.ExitUsage, fmt.Errorf("prompt %d not found: the session has %s", n,
			term.FormatPlural(len(prompts), "prompt")), "1 is the first prompt, -1 the newest one")
	}
	return prompts[at], nil
}

// findPart returns the part of an answer that its id, or the id of its text or call, names.
func findPart(
	ctx context.Context, c *api.Client, id session.ID, m session.MessageID, name string,
) (session.PartID, error) {
	found, err := c.Message(ctx, id, m)
	if err != nil {
		return "", err
	}
	var names []string
	for part, other := range listParts(found) {
		if string(part) == name || other == name {
			return part, nil
		}
		names = append(names, string(part), other)
	}
	missing := *session.NotFound("part", name)
	missing.Nearest = spelling.Nearest(name, names, 3)
	return "", &missing
}

// listParts yields the parts of an answer that can be taken back, with the ids of their texts and calls.
func listParts(m session.Message) iter.Seq2[session.PartID, string] {
	return func(yield func(session.PartID, string) bool) {
		a, ok := m.(*session.Assistant)
		if !ok {
			return
		}
		for _, item := range a.Content {
			id := ""
			switch item := item.(type) {
			case *session.Text:
				id = item.ID
			case *session.Tool:
				id = item.ID
			default:
				continue
			}
			if !yield(item.ItemID(), id) {
				return
			}
		}
	}
}

// completePart completes the parts of the message that the arguments name.
func (g commands) completePart(
	cmd *cobra.Command, args []string, typed string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	name := "last"
	if len(args) > 1 {
		name, args = args[0], args[1:]
	}
	return g.inv.Complete(func(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
		s, err := g.inv.FindSession(ctx, c, name)
		if err != nil {
			return nil, err
		}
		m, err := c.Message(ctx, s.ID, session.MessageID(cli.FirstArg(args, "")))
		for part, id := range listParts(m) {
			all = append(all, cobra.CompletionWithDesc(string(part), id))
		}
		return all, err
	})(cmd, args, typed)
}

// completeArguments completes a session and one of its messages, or a message of the newest session.
func (g commands) completeArguments(
	cmd *cobra.Command, args []string, typed string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 1 || len(args) == 1 && !isSession(args[0]) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return g.inv.Complete(func(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
		if len(args) == 0 && !strings.HasPrefix(typed, "msg_") {
			if all, err = g.inv.SessionCompletions(ctx, c); err != nil {
				return nil, err
			}
		}
		s, err := g.inv.FindSession(ctx, c, cli.FirstArg(args, "last"))
		if err != nil {
			return all, err
		}
		page, err := c.Messages(ctx, s.ID, api.MessageQuery{})
		for _, m := range page.Data {
			if text := describeMessage(m); text != "" {
				all = append(all, cobra.CompletionWithDesc(string(m.Meta().ID), text))
			}
		}
		return all, err
	})(cmd, args, typed)
}

// isSession reports whether an argument names a session rather than a message.
func isSession(arg string) bool {
	return arg == "last" || strings.HasPrefix(arg, string(session.PrefixSession))
}
