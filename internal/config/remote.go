package config

import (
	"context"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/trust"
)

// Remote is a configuration that an organisation offers to those who logged in to its address, as it was fetched last:
// the document there, or further configuration that it names. Like a project's it only speaks until that very content
// is trusted; trusted or not, what is only the user's own is not taken from it.
type Remote struct {
	Address string
	Source  string      // what it is called where values are explained
	File    string      // where the document is kept; its member config counts
	Further bool        // the document names it: without a member config it is the configuration itself
	Leads   bool        // it names further configuration at another origin, where the token goes once this is trusted
	Problem string      // why what it names is not fetched; "" if it is, or if it names nothing
	Env     string      // the name of the token
	Token   auth.Secret // may stand in the user's own files, and in the document once it is trusted, as {env:Env}
}

// RemoteState is what became of a Remote.
type RemoteState struct {
	Address string
	Claim   *trust.Claim // what it wants beyond speaking
	Trusted bool
}

const remoteKey = "remote_config"

// NewClaim makes the claim of a document without anything in it.
func (r Remote) NewClaim() *trust.Claim { return &trust.Claim{Root: r.Address, Project: "remote"} }

// MayLead reports whether a document with this text was trusted, so that the token goes where it leads.
func (r Remote) MayLead(judge *trust.Judge, text []byte) bool {
	c := r.NewClaim()
	c.Add(r.Source, text, remoteKey)
	return judge != nil && judge.Trusted(c)
}

// remotes adds the organisations' documents, what each names above itself.
func (l *loader) remotes(ctx context.Context) error {
	for _, r := range l.opts.Remotes {
		docs, err := l.collect(ctx, []source{{path: r.File, scope: scopeProject}})
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			l.warn(Place{File: r.Source}, WarnIgnored, "", "is not read: it was not fetched yet")
			continue
		}
		d := docs[0]
		d.name, d.remote = r.Source, &r
		if r.Problem != "" {
			l.warn(Place{File: r.Source}, WarnIgnored, remoteKey, "is not fetched: "+r.Problem)
		}
		why, _, err := l.probe(d)
		if err == nil && l.remoteTrusted(r, d, why) {
			d.scope = scopeTrusted
			_, _, err = l.probe(d) // what was held back may be wrong, too
		}
		if err != nil { // somebody else's mistake stops nobody's work
			l.warn(Place{File: r.Source}, WarnIgnored, "", "is not used: "+err.Error())
			continue
		}
		if err := l.take(d); err != nil {
			return err
		}
	}
	return nil
}

// remoteTrusted asks whether what the document wants beyond speaking is trusted.
func (l *loader) remoteTrusted(r Remote, d *document, why []string) bool {
	state := RemoteState{Address: r.Address, Claim: r.NewClaim()}
	if r.Leads {
		why = append(why, remoteKey)
	}
	if len(why) > 0 {
		state.Claim.Add(r.Source, d.text, why...)
	}
	if l.opts.Trust != nil && !state.Claim.Empty() {
		l.stamp(l.opts.Trust.Path())
		state.Trusted = l.opts.Trust.Trusted(state.Claim)
	}
	if r.Leads && !state.Trusted {
		l.warn(Place{File: r.Source}, WarnUntrusted, remoteKey, d.untrusted())
	}
	l.config.Remotes = append(l.config.Remotes, state)
	return state.Trusted
}

// token is what a login gives for the name of a variable that is not set.
func (l *loader) token(name string) string {
	for _, r := range l.opts.Remotes {
		if r.Env == name && name != "" {
			return r.Token.Reveal()
		}
	}
	return ""
}

// untrusted is what is said of what the document may say once it is trusted.
func (d *document) untrusted() string {
	if d.remote != nil {
		return "has no effect until it is trusted: see cairn auth login " + d.remote.Address
	}
	return "has no effect until the project is trusted: see cairn trust"
}
