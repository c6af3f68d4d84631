package cli

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// FindMessage returns the message that name stands for: an id, the beginning of one with at least minBeginning bytes,
// or the number of a prompt. The output of a command of the user has an id of its own in V1, and stands for the
// command. If name stands for no message or several, the error suggests ids and has the exit code for usage.
func FindMessage(ctx context.Context, c *api.Client, s *session.Session, name string) (session.MessageID, error) {
	// A number counts prompts.
	if n, err := strconv.Atoi(name); err == nil {
		return FindPrompt(ctx, c, s, n)
	}
	// Search from the newest message; an equal id ends the search, beginnings are collected.
	const minBeginning = 8
	var ids []string
	var matches []session.MessageID
	for m, err := range c.NewestMessages(ctx, s.ID) {
		if err != nil {
			return "", err
		}
		named := []session.MessageID{m.Meta().ID}
		if sh, ok := m.(*session.Shell); ok && sh.AnswerID != "" {
			named = append(named, sh.AnswerID)
		}
		for _, id := range named {
			if string(id) == name {
				return m.Meta().ID, nil
			}
			ids = append(ids, string(id))
			if len(name) >= minBeginning && strings.HasPrefix(string(id), name) {
				matches = append(matches, m.Meta().ID)
			}
		}
	}
	// One message matches, perhaps with both of its ids; otherwise suggest ids.
	if matches = slices.Compact(matches); len(matches) == 1 {
		return matches[0], nil
	}
	missing := *session.NotFound("message", name)
	missing.Nearest = spelling.FindNearest(name, ids, 3)
	return "", NewExitError(ExitUsage, &missing,
		"name a message of "+string(s.ID)+" by its id (cairn session show --json), or a prompt by its number")
}

// FindPrompt returns the prompt, or the command of the user, with the number: 1 is the first one, -1 the newest. Those
// that a staged revert hides count.
func FindPrompt(ctx context.Context, c *api.Client, s *session.Session, n int) (session.MessageID, error) {
	var prompts []session.MessageID
	for m, err := range c.NewestMessages(ctx, s.ID) {
		if err != nil {
			return "", err
		}
		switch m.(type) {
		case *session.User, *session.Shell:
			prompts = append(prompts, m.Meta().ID)
		}
	}
	slices.Reverse(prompts)
	at := n - 1
	if n < 0 {
		at = len(prompts) + n
	}
	if n == 0 || at < 0 || at >= len(prompts) {
		return "", NewExitError(ExitUsage, fmt.Errorf("prompt %d not found: the session has %s", n,
			terminal.FormatPlural(len(prompts), "prompt")), "1 is the first prompt, -1 the newest one")
	}
	return prompts[at], nil
}

// FindPart returns the part of an answer that name stands for: its id, or the id of its text or call.
func FindPart(
	ctx context.Context, c *api.Client, id session.ID, m session.MessageID, name string,
) (session.PartID, error) {
	found, err := c.Message(ctx, id, m)
	if err != nil {
		return "", err
	}
	var names []string
	for part, other := range ListParts(found) {
		if string(part) == name || other == name {
			return part, nil
		}
		names = append(names, string(part), other)
	}
	missing := *session.NotFound("part", name)
	missing.Nearest = spelling.FindNearest(name, names, 3)
	return "", &missing
}

// ListParts yields the parts of an answer that can be taken back, with the ids of their texts and calls.
func ListParts(m session.Message) iter.Seq2[session.PartID, string] {
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
