package document

import (
	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/access/trust"
)

// Remote is the last fetched configuration of an organisation that the user logged in to: its document, or further
// configuration that the document names. It is treated like a project's file: until exactly that content is trusted,
// only inert keys apply, and the user's own keys never do.
type Remote struct {
	Address string
	Source  string      // its name in explanations
	File    string      // the stored document, whose member config is the configuration
	Further bool        // named by another document: without a member config it is the configuration itself
	Leads   bool        // it names configuration at another origin, which receives the token once this one is trusted
	Problem string      // why the configuration that it names was not fetched, or ""
	Env     string      // name of the variable for the token
	Token   auth.Secret // value of {env:Env} in the user's own files and in the trusted document
}

// RemoteKey is the key under which a document names further configuration.
const RemoteKey = "remote_config"

// NewClaim returns an empty claim for the document.
func (r Remote) NewClaim() *trust.Claim { return &trust.Claim{Root: r.Address, Project: "remote"} }

// MayLead reports whether a document with this text is trusted, so that the token may be sent to the origin that it
// names.
func (r Remote) MayLead(judge *trust.Judge, text []byte) bool {
	c := r.NewClaim()
	c.Add(r.Source, text, RemoteKey)
	return judge != nil && judge.IsTrusted(c)
}
