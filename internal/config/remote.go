package config

import (
	"context"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/trust"
)

// Remote is the configuration that an organisation offers at an address the user logged in to, as it was fetched last.
// It is the lowest layer of all files. Like a project's it only speaks until that very content is trusted; trusted or not,
// what is only the user's own is not taken from it.
type Remote struct {
	Address string
	Source  string      // what it is called where values are explained
	File    string      // where the document is kept; its member config counts
	Env     string      // the name of the token
	Token   auth.Secret // may stand in the user's own files, and in the document once it is trusted, as {env:Env}
}

// RemoteState is what became of a Remote.
type RemoteState struct {
	Address string
	Claim   *trust.Claim // what it wants beyond speaking
	Trusted bool
}

// remotes adds the organisations' documents.
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
		why, _, err := l.probe(d)
		if err != nil { // somebody else's mistake stops nobody's work
			l.warn(Place{File: r.Source}, WarnIgnored, "", "is not used: "+err.Error())
			continue
		}
		if l.remoteTrusted(r, d, why) {
			d.scope = scopeTrusted
		}
		if err := l.take(d); err != nil {
			return err
		}
	}
	return nil
}

// remoteTrusted asks whether what the document wants beyond speaking is trusted.
func (l *loader) remoteTrusted(r Remote, d *document, why []string) bool {
	state := RemoteState{r.Address, &trust.Claim{Root: r.Address, Project: "remote"}, false}
	if len(why) > 0 {
		state.Claim.Add(r.Source, d.text, why...)
	}
	if l.opts.Trust != nil && !state.Claim.Empty() {
		l.stamp(l.opts.Trust.Path())
		state.Trusted = l.opts.Trust.Trusted(state.Claim)
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
