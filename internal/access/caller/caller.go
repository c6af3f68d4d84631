// Package caller says who made a request and what the request may do.
package caller

import (
	"context"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// Role limits the operations of a caller. Each role includes those before it. The zero value may do nothing. Texts for
// users call it the scope of a token, as HTTP does.
type Role int

// The roles.
const (
	Read    Role = iota + 1 // read sessions, files, settings and events
	Prompt                  // work in sessions: create, prompt, abort, edit and delete them
	Approve                 // answer asks, change what sessions may do, act without an ask
	Admin                   // change settings, keys and terminals
)

// scopeNames lists the names of the roles in their order.
func roleNames() []string { return []string{"", "read", "prompt", "approve", "admin"} }

// String returns the name.
func (s Role) String() string {
	if s < 0 || int(s) >= len(roleNames()) {
		return fmt.Sprintf("Scope(%d)", int(s))
	}
	return roleNames()[s]
}

// ParseRole returns the role of a name.
func ParseRole(name string) (Role, error) {
	for i, n := range roleNames() {
		if n == name && i > 0 {
			return Role(i), nil
		}
	}
	return 0, fmt.Errorf("scope %q is unknown; use read, prompt, approve or admin", name)
}

// MarshalText implements encoding.TextMarshaler.
func (s Role) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Role) UnmarshalText(text []byte) (err error) {
	*s, err = ParseRole(string(text))
	return err
}

// Kind names the way in which a caller was identified.
type Kind string

// The kinds of callers.
const (
	KindOwn      Kind = "own"      // cairn's own process: a command that works on its own data
	KindTool     Kind = "tool"     // cairn's own process that a tool started
	KindUser     Kind = "user"     // a process of the user that no tool started, as the kernel says
	KindLogin    Kind = "login"    // a browser that logged in
	KindPassword Kind = "password" // the bearer of the configured password
	KindSecret   Kind = "secret"   // the bearer of the content of server.secret
	KindToken    Kind = "token"    // the bearer of a scoped token
	KindOpen     Kind = "open"     // anyone on this machine, with --open-local
	// KindExtension is a plugin that cairn runs, whose client speaks through its pipe.
	KindExtension Kind = "extension"
)

// Caller is who made a request. A terminal ticket is of the caller that it was issued to.
type Caller struct {
	Kind  Kind
	Token string // the id of a token; never the token itself
	Role  Role
}

// String formats the caller for the header with which a relay names it.
func (c Caller) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Role, c.Kind, c.Token))
}

// NarrowTo returns the caller for whom c, a relay, makes a request. The header is what String returned; "" is c itself.
// The scope is the smaller one: none if the header is invalid.
func (c Caller) NarrowTo(header string) Caller {
	if header == "" {
		return c
	}
	words := append(strings.Split(header, " "), "", "")
	role, _ := ParseRole(words[0]) // invalid: none
	return Caller{Kind: Kind(words[1]), Token: words[2], Role: min(role, c.Role)}
}

type key struct{}

// NewContext returns a context of a request of the caller.
func NewContext(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// FromContext returns the caller of a request. Work that no request started is cairn's own.
func FromContext(ctx context.Context) Caller {
	if c, ok := ctx.Value(key{}).(Caller); ok {
		return c
	}
	return Caller{Kind: KindOwn, Role: Admin}
}

// The reasons for which a caller is refused, as answers have them in code.
const (
	ReasonMissing = "credential_missing" // no credential, and no evidence of the kernel
	ReasonWrong   = "credential_wrong"   // unknown, expired or revoked
	ReasonQuery   = "credential_in_query"
	ReasonTool    = "caller_is_tool"
	ReasonUnknown = "caller_unknown" // a process of this machine that the kernel cannot tell from one of a tool
	ReasonUser    = "caller_is_other_user"
	ReasonScope   = "scope_missing"
)

// Refuse returns the error that refuses a caller with 403.
func Refuse(reason, message string) *session.Error {
	e := session.Errorf(session.CodeDenied, "%s", message)
	e.Reason = reason
	return e
}

// Require returns an error unless the caller of the request has the scope; what completes "… needs the scope".
func Require(ctx context.Context, need Role, what string) error {
	c := FromContext(ctx)
	if c.Role >= need {
		return nil
	}
	how := "create a token with it: cairn token create --scope " + need.String()
	if c.Kind == KindExtension {
		how = "the user gives it to plugins with extensions.scope of the configuration"
	}
	if c.Kind == KindOpen || c.Kind == KindSecret {
		how = "log in with a browser, or " + how
	}
	return Refuse(ReasonScope, fmt.Sprintf("%s needs the scope %s, and this %s has %s; %s",
		what, need, c.Kind.describe(), c.Role, how))
}

// describe names the credential of a kind.
func (k Kind) describe() string {
	switch k {
	case KindToken, KindPassword, KindSecret, KindLogin, KindExtension:
		return string(k)
	default:
		return "caller"
	}
}
