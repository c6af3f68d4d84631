package config

import (
	"context"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/trust"
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

// RemoteState is the trust of a Remote.
type RemoteState struct {
	Address string
	Claim   *trust.Claim // the content that needs trust
	Trusted bool
}

const remoteKey = "remote_config"

// NewClaim returns an empty claim for the document.
func (r Remote) NewClaim() *trust.Claim { return &trust.Claim{Root: r.Address, Project: "remote"} }

// MayLead reports whether a document with this text is trusted, so that the token may be sent to the origin that it
// names.
func (r Remote) MayLead(judge *trust.Judge, text []byte) bool {
	c := r.NewClaim()
	c.Add(r.Source, text, remoteKey)
	return judge != nil && judge.IsTrusted(c)
}

// addRemotes adds the organisations' documents, each below the configuration that it names.
func (l *loader) addRemotes(ctx context.Context) error {
	for _, r := range l.opts.Remotes {
		docs, err := l.collectDocuments(ctx, []source{{path: r.File, scope: scopeProject}})
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			l.addWarning(Position{File: r.Source}, WarnIgnored, "", "is not read: it has not been fetched yet")
			continue
		}
		d := docs[0]
		d.name, d.remote = r.Source, &r
		if r.Problem != "" {
			l.addWarning(Position{File: r.Source}, WarnIgnored, remoteKey, "is not fetched: "+r.Problem)
		}
		why, _, err := l.probeUntrusted(d)
		if err == nil && l.remoteTrusted(r, d, why) {
			d.scope = scopeTrusted
			_, _, err = l.probeUntrusted(d) // the withheld part may be invalid, too
		}
		if err != nil { // an organisation's error must not stop the user's work
			l.addWarning(Position{File: r.Source}, WarnIgnored, "", "is not used: "+err.Error())
			continue
		}
		if err := l.addOrKeepError(d); err != nil {
			return err
		}
	}
	return nil
}

// remoteTrusted reports whether the content of the document that needs trust is trusted.
func (l *loader) remoteTrusted(r Remote, d *document, why []string) bool {
	state := RemoteState{Address: r.Address, Claim: r.NewClaim()}
	if r.Leads {
		why = append(why, remoteKey)
	}
	if len(why) > 0 {
		state.Claim.Add(r.Source, d.text, why...)
	}
	if l.opts.Trust != nil && !state.Claim.IsEmpty() {
		l.addStamp(l.opts.Trust.Path())
		state.Trusted = l.opts.Trust.IsTrusted(state.Claim)
	}
	if r.Leads && !state.Trusted {
		l.addWarning(Position{File: r.Source}, WarnUntrusted, remoteKey, d.untrustedReason())
	}
	l.config.Remotes = append(l.config.Remotes, state)
	return state.Trusted
}

// loginToken returns the token of the login whose variable has that name, or "".
func (l *loader) loginToken(name string) string {
	for _, r := range l.opts.Remotes {
		if r.Env == name && name != "" {
			return r.Token.Reveal()
		}
	}
	return ""
}

// untrustedReason completes a warning about a key that needs trust.
func (d *document) untrustedReason() string {
	if d.remote != nil {
		return "has no effect until it is trusted: see cairn auth login " + d.remote.Address
	}
	return "has no effect until the project is trusted: see cairn trust"
}
