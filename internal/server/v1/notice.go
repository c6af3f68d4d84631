package v1

import (
	"github.com/cairn-dev/cairn/internal/server/broadcast"
	"github.com/cairn-dev/cairn/internal/session"
)

// notice is an event that clients and the server send to the open streams of a directory. It is never stored.
type notice struct {
	directory  string // "": every directory
	project    session.ProjectID
	kind       string
	properties any
}

// The kinds of the server's own notices.
const (
	kindDisposed       = "server.instance.disposed"
	kindGlobalDisposed = "global.disposed"
	kindBranch         = "vcs.branch.updated"
	kindTools          = "mcp.tools.changed"
	kindLanguages      = "lsp.updated"
	kindProject        = "project.updated"
)

// notices passes notices to streams.
type notices struct{ broadcast.Topic[notice] }

// instance names what clients have to read again.
type instance struct {
	Directory string `json:"directory"`
}

// publishDisposed tells the streams of a location to read it again.
func (n *notices) publishDisposed(l *Location) {
	n.Send(notice{l.Directory, l.ProjectID, kindDisposed, instance{l.Directory}})
}

// publishGlobalDisposed tells all streams to read everything again. l is the location of the client, nil if unknown.
func (n *notices) publishGlobalDisposed(l *Location) {
	v := notice{kind: kindGlobalDisposed, properties: emptyObject{}}
	if l != nil {
		v.directory, v.project = l.Directory, l.ProjectID
	}
	n.Send(v)
}

// emptyObject has no members.
type emptyObject struct{}

// branchUpdated are the properties of kindBranch.
type branchUpdated struct {
	Branch string `json:"branch,omitzero"`
}
