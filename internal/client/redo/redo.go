// Package redo brings back what an undo or a revert took back, one prompt at a time.
package redo

import (
	"context"
	"slices"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Step is what one redo has brought back.
type Step struct {
	Prompt   session.MessageID  // "" if the revert began within an answer
	Revert   *session.Revert    // that is still staged; nil if nothing is hidden any more
	Restored []session.FilePath // files that it brought back
	Kept     []session.KeptFile // files that it did not bring back
	Unknown  []string           // what it cannot bring back, for people
}

// StageNext brings back the first hidden prompt of a session with a staged revert: it stages the revert to the hidden
// prompt after it in place of that or, without one, clears it.
func StageNext(ctx context.Context, c *api.Client, s *session.Session) (Step, error) {
	res, reverts := Step{}, api.Reverts{Client: c}
	head, err := c.Head(ctx, s.ID)
	if err != nil {
		return res, err
	}
	first, next, err := findHiddenPrompts(ctx, c, s)
	if err != nil {
		return res, err
	}
	res.Prompt = first
	if next == "" {
		err = reverts.ClearRevert(ctx, s.ID)
	} else {
		var r *api.RevertRequest
		if r, err = narrowRevert(ctx, c, s, next); err != nil {
			return res, err
		}
		res.Revert, err = reverts.StageRevert(ctx, s.ID, *r)
	}
	if err == nil {
		res.Kept, err = readNotRestored(ctx, c, s.ID, head)
	}
	res.Restored = listRestored(s.Revert, res)
	if s.Import != nil && len(s.Revert.Files) == 0 {
		res.Unknown = s.Revert.Unknown
	}
	return res, err
}

// narrowRevert returns the request for a revert from a later prompt on, of what the staged one takes back: messages,
// files or both.
func narrowRevert(
	ctx context.Context, c *api.Client, s *session.Session, from session.MessageID,
) (*api.RevertRequest, error) {
	r := &api.RevertRequest{MessageID: from, Before: true, Messages: new(!s.Revert.FilesOnly)}
	if len(s.Revert.Files)+len(s.Revert.Kept)+len(s.Revert.Unknown) > 0 {
		return r, nil
	}
	// The staged revert does not record whether it is one of messages alone. It is if it has no files, and the same
	// revert of files would have some.
	same := api.RevertRequest{
		MessageID: s.Revert.MessageID, PartID: s.Revert.PartID, Before: s.Revert.Exclusive, Preview: true,
	}
	p, err := api.Reverts{Client: c}.StageRevert(ctx, s.ID, same)
	if err == nil && len(p.Files) > 0 {
		r.Files = new(false)
	}
	return r, err
}

// findHiddenPrompts returns the first prompt that the staged revert takes back, "" if it begins within an answer, and
// the next one, "" without one.
func findHiddenPrompts(
	ctx context.Context, c *api.Client, s *session.Session,
) (first, next session.MessageID, err error) {
	// Collect what the revert takes back, and the message at which it begins.
	var newest []session.Message
	for m, err := range c.NewestMessages(ctx, s.ID) {
		if err != nil {
			return "", "", err
		}
		newest = append(newest, m)
		if m.Meta().ID == s.Revert.MessageID {
			break
		}
	}
	n, found := s.Revert.CountTaken(newest)
	if !found {
		return "", "", nil // the message was removed: the whole revert is cleared
	}
	hidden := newest[:n]
	// Go forward in time: the oldest hidden message may be the first prompt; the next prompt ends the search.
	for i, m := range slices.Backward(hidden) {
		if !isPrompt(m) {
			continue
		}
		if i == len(hidden)-1 {
			first = m.Meta().ID
			continue
		}
		return first, m.Meta().ID, nil
	}
	return first, "", nil
}

// readNotRestored returns the files that clearing the revert did not bring back, from the events after the seq.
func readNotRestored(
	ctx context.Context, c *api.Client, id session.ID, after int64,
) (kept []session.KeptFile, err error) {
	const maxEvents = 100
	h, err := c.History(ctx, id, after, maxEvents)
	for _, e := range h.Data {
		if cleared, ok := e.Data.(*session.RevertCleared); ok {
			kept = append(kept, cleared.Kept...)
		}
	}
	return kept, err
}

// listRestored returns the files of the earlier revert that the redo changed: those that are neither kept nor in the
// same state in the revert that is staged now.
func listRestored(earlier *session.Revert, res Step) (out []session.FilePath) {
	for _, f := range earlier.Files {
		isKept := slices.ContainsFunc(res.Kept, func(k session.KeptFile) bool { return k.Path == f.Path })
		isSame := res.Revert != nil && slices.ContainsFunc(
			res.Revert.Files, func(now session.RevertedFile) bool { return now.Path == f.Path && now.To == f.To },
		)
		if !isKept && !isSame {
			out = append(out, f.Path)
		}
	}
	return out
}

// isPrompt reports whether the message is a prompt, or a command that the user ran.
func isPrompt(m session.Message) bool {
	switch m.(type) {
	case *session.User, *session.Shell:
		return true
	}
	return false
}
