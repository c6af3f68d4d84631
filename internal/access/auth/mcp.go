package auth

import (
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MCPFileName is the name of the file with the logins at MCP servers, which have a Store of their own: a server that
// answers slowly does not hold up the keys of providers.
const MCPFileName = "mcp-auth.json"

// KindMCP is a login at an MCP server.
const KindMCP Kind = "mcp"

// NewMCP returns the store of the logins at MCP servers. It is like New otherwise.
func NewMCP(dataDir string, getenv func(string) string) *Store {
	return newStore(dataDir, MCPFileName, "mcp-"+orphansName, getenv)
}

// MCPLogin is a login at an MCP server.
type MCPLogin struct {
	Token
	ClientSecret Secret         // of cairn at the server that issues tokens; zero for a public client
	Details      jsontext.Value // an object without secrets
}

// GetMCP returns a stored login.
func (s *Store) GetMCP(ctx context.Context, name string) (out MCPLogin, ok bool, err error) {
	all, err := s.readFile()
	if err != nil {
		return out, false, err
	}
	e, ok := all[name]
	if !ok || e.Type != KindMCP {
		return out, false, s.entryError(name, e)
	}
	if e, err = s.withSecrets(ctx, name, e); err != nil {
		return out, false, err
	}
	var extra mcpExtra
	if json.Unmarshal(e.Extra, &extra) != nil {
		return out, false, newInvalidError("the login of the MCP server in %s is invalid; log in again", s.path)
	}
	out.Refresh, out.Access, out.ClientSecret = NewSecret(e.Refresh), NewSecret(e.Access), NewSecret(e.Key)
	if e.Expires > 0 {
		out.Expires = time.UnixMilli(e.Expires)
	}
	out.Details = extra.Login
	return out, true, nil
}

// mcpExtra is what an entry of KindMCP has besides the usual members.
type mcpExtra struct {
	Login jsontext.Value `json:"login"`
}

// SetMCP stores a login in place of what was stored.
func (s *Store) SetMCP(ctx context.Context, name string, l MCPLogin) error {
	extra, err := json.Marshal(mcpExtra{l.Details}, json.Deterministic(true))
	if err != nil {
		return err
	}
	var e entry
	e.setToken(l.Token)
	e.Type, e.Key, e.Extra = KindMCP, l.ClientSecret.Reveal(), extra
	if hasControlCharacter(e.Key + e.Access + e.Refresh) {
		return newInvalidError("the token of the MCP server is invalid: it contains a control character")
	}
	return s.storeEntry(context.WithoutCancel(ctx), name, e) // the refresh token of before may be invalid now
}
