package v1

import (
	"errors"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// checkMessageID refuses a messageID that cannot be one; "" is allowed.
func checkMessageID(id session.MessageID) error {
	if id == "" {
		return nil
	}
	return session.CheckID("messageID", session.PrefixMessage, string(id))
}

// requireMembers refuses a body that lacks one of the members: their names and values, in pairs.
func requireMembers(members ...string) error {
	for i := 0; i+1 < len(members); i += 2 {
		if members[i+1] == "" {
			return missingMember(members[i])
		}
	}
	return nil
}

// missingMember is the error for a body without a required member.
func missingMember(name string) error { return httpio.NewInvalid("body", name, "Missing key") }

// choiceKinds are the kinds that a body selects by name. A missing one is a mistake in the body; other things that are
// not found are named by the path.
var choiceKinds = []string{"agent", "model", "provider", "variant", "command"}

// inBody says that err is about the body, unless it says where it is already or is about the location of the request.
func inBody(err error) error {
	e, ok := errors.AsType[*session.Error](err)
	if httpio.ErrorPart(err) != "" || ok && isDirectoryError(e) {
		return err
	}
	if ok && e.Code == session.CodeNotFound && slices.Contains(choiceKinds, e.Kind) {
		field := e.Kind
		switch {
		case strings.HasPrefix(e.Field, "parts["):
			field = e.Field
		case e.Kind == "provider":
			field = "model"
		}
		err = session.Errorf(session.CodeInvalid, "%s", e.Error()).At(field).Because(err)
	}
	return httpio.WithPart("body", err)
}

// invalidChoice is the error for a member of a body that has none of the allowed values.
func invalidChoice(member, got string, choices ...string) error {
	return httpio.NewInvalid("body", member, "%s must be one of %s, got %q",
		member, strings.Join(choices, ", "), session.ClipText(got, 40))
}
