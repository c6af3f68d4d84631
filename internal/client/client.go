// Package client has what a face of cairn and the process that it opens agree on: the options with which sessions are
// opened or served, and the connection to the owner of a store. Command line, full-screen interface and other programs
// are clients of a session through client/api.
package client

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// StorageUse is the size of one kind of stored files.
type StorageUse struct {
	What  string `json:"what"`
	Path  string `json:"path"` // the directory, or the beginning of the files' names
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	Limit int64  `json:"limit,omitzero"` // bytes
	Kept  string `json:"kept,omitzero"`  // how long
}

// KnownModel is a model of which there may be no more than facts.
type KnownModel struct {
	api.Model
	Missing []string          `json:"missing,omitzero"` // what keeps it from being used here
	Dropped []string          `json:"dropped,omitzero"` // its options that are not sent, and why
	Variant *api.ModelVariant `json:"variant,omitzero"` // the one that was named
}

// Options are the settings that every command passes to the host.
type Options struct {
	Dir     string              // the Location, absolute
	Env     func(string) string // the environment
	Version string              // of this cairn, kept with the sessions it makes
	Record  string              // cassette to write provider traffic to; "" none
	Replay  string              // cassette to answer provider requests from; "" none
	Trust   string              // a word for trust.Judge: a hash, "none", or "" for what is kept
	Sandbox session.SandboxMode // of sessions that begin in this process, at least
	Read    bool                // reads the store if it has no owner, instead of becoming its owner
	Deletes bool                // the command deletes: on a full disk it may take the reserve
	Detach  bool                // starts a background server if the store has no owner, instead of becoming its owner
	Note    func(string)        // reports what the command waits for; may be nil

	Program Program
}

// ServeOptions are those of cairn serve. What is not set is as the user's configuration says.
type ServeOptions struct {
	Options
	Hostname   string // "" without configuration: the loopback address, or all if the network is to find us
	Port       *int   // nil or 0 without configuration: OpenCode's if it is free, else any
	OpenLocal  bool   // serve loopback requests without credentials where the kernel cannot tell whose they are
	Origins    []string
	Background bool     // serve in a process of its own, which ends when it is idle; Serve returns when that one answers
	Arguments  []string // of the command line, for the background server
	UntilIdle  bool     // end when no client is connected and no session works
	SocketOnly bool     // no TCP, and no work of earlier owners is resumed
	MDNS       *bool    // let the local network find us
	MDNSDomain string   // under which name
}

// StoreOwner is the process that owns the store. PID is 0 if there is none.
type StoreOwner struct {
	PID     int    `json:"pid"`
	Version string `json:"version,omitzero"` // of its program, which may have been replaced since it started
}

// Listening says where a server answers.
type Listening struct {
	URL    string `json:"url"`    // "" without TCP
	Socket string `json:"socket"` // "" without a Unix socket
	PID    int    `json:"pid"`
	MDNS   string `json:"mdns,omitempty"` // name and port under which the local network finds it
	Note   string `json:"note,omitempty"` // what was asked for and is not so
	Log    string `json:"log,omitempty"`  // where a background server writes
}

// Connection is a way to the owner of the store.
type Connection struct {
	API *api.Client
	// Close ends the connection. In the owner's process it first waits for sessions at work, up to a limit, and then
	// stops them.
	Close func(ctx context.Context) error
	// IsWorking reports whether Close waits for a session at work; nil if it never does.
	IsWorking func() bool
	// Owner describes the other process that does the work; "" if this one does.
	Owner string
	// Health is the answer of that process to the connection.
	Health api.Health
}
