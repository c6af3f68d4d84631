package config

import (
	"context"

	"github.com/cairn-dev/cairn/internal/location/config/document"
)

// addRemotes adds the organisations' documents, each below the configuration that it names.
func (l *loader) addRemotes(ctx context.Context) error {
	for _, r := range l.opts.Remotes {
		// Read the stored document.
		docs, err := l.collectDocuments(ctx, []source{{path: r.File, layer: document.LayerProject}})
		if err != nil {
			return err
		}
		if len(docs) == 0 {
			l.addWarning(document.Position{File: r.Source}, WarnIgnored, "", "is not read: it has not been fetched yet")
			continue
		}
		// Use it. A failed fetch of what it names is only a warning.
		d := docs[0]
		d.Name, d.Remote = r.Source, &r
		if r.Problem != "" {
			l.addWarning(document.Position{File: r.Source}, WarnIgnored, document.RemoteKey, "is not fetched: "+r.Problem)
		}
		// Probe what needs trust, and raise the layer if the user trusts it.
		why, _, err := l.probeUntrusted(d)
		if err == nil && l.isRemoteTrusted(r, d, why) {
			d.Layer = document.LayerTrusted
			_, _, err = l.probeUntrusted(d) // the withheld part may be invalid, too
		}
		if err != nil { // an organisation's error must not stop the user's work
			l.addWarning(document.Position{File: r.Source}, WarnIgnored, "", "is not used: "+err.Error())
			continue
		}
		if err := l.addOrKeepError(d); err != nil {
			return err
		}
	}
	return nil
}

// isRemoteTrusted reports whether the content of the document that needs trust is trusted.
func (l *loader) isRemoteTrusted(r document.Remote, d *document.Document, why []string) bool {
	state := RemoteState{Address: r.Address, Claim: r.NewClaim()}
	if r.Leads {
		why = append(why, document.RemoteKey)
	}
	if len(why) > 0 {
		state.Claim.Add(r.Source, d.Text, why...)
	}
	if l.opts.Trust != nil && !state.Claim.IsEmpty() {
		l.addStamp(l.opts.Trust.Path())
		state.Trusted = l.opts.Trust.IsTrusted(state.Claim)
	}
	if r.Leads && !state.Trusted {
		l.addWarning(document.Position{File: r.Source}, WarnUntrusted, document.RemoteKey, d.UntrustedReason())
	}
	l.config.Remotes = append(l.config.Remotes, state)
	return state.Trusted
}
