// Package embed runs cairn within a program: the store of sessions, the loop that works on them, and what the program
// adds of its own: models, tools, sources of the system context, and hooks.
//
//	store, err := embed.Open(ctx, &embed.Options{Home: "/var/lib/reviewer", Tools: []embed.Tool{lookup}})
//	if err != nil { … }
//	defer store.Close()
//	session, err := store.Client().CreateSession(ctx, nil)
//
// Everything else is done with the client (package sdk), as against any other server. One process at a time owns the
// data of a home. While the program does, the command cairn, other programs and editors of the same user are clients of
// it; and if another process owns the data, a program that adds nothing of its own is a client of that one.
//
// On Linux, commands of tools run below a small supervisor, which is the program itself, started with an argument of
// cairn's: an init function of this package takes it, before main. Also, other processes of the user cannot trace or
// dump a process that has opened a store (PR_SET_DUMPABLE): its memory has the keys of providers.
package embed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/host"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/sdk"
)

// init turns a process that cairn started as the supervisor of a command into that. It runs before main, because main
// is the program's: it does not know the arguments of a supervisor, and would open the store again.
func init() {
	if code, ok := host.RunSupervisor(os.Args[1:]); ok {
		os.Exit(code)
	}
}

// Options are the options of Open. The zero value is the store of the user's own cairn, with nothing added.
type Options struct {
	// Home is the directory below which everything is stored and configured, absolute; it is created if needed. "" is
	// that of the command cairn: CAIRN_HOME, or the XDG base directories.
	Home string
	// Directory is where sessions are created that name no directory, absolute. "" is the working directory.
	Directory string
	// Config has settings as in cairn.json (docs/manual.md), an object. They win over those of files. An unknown key and
	// a value of the wrong type are errors of Open.
	Config json.RawMessage
	// Models are offered as "cairn/ID". The first one is used where the configuration names no model.
	Models []Model
	// Tools are offered to all agents, beside the built-in ones. One with the name of a built-in tool takes its place.
	Tools []Tool
	// Context has sources of the system context, which the model reads before the conversation.
	Context []ContextSource
	Hooks   Hooks
	// Env looks up the environment variables that cairn reads, such as keys of providers. Nil is os.Getenv. Commands of
	// tools get the environment of the process in any case, without what is secret.
	Env func(name string) string
	// Logger gets what the server logs. Nil is standard error, at the level of CAIRN_LOG ("error" by default).
	Logger *slog.Logger
	// Notes is called with texts for people, such as what Open waits for. It may be nil.
	Notes func(text string)
}

// Store is an open store. Close it.
type Store struct {
	client *sdk.Client
	owner  string
	close  func() error
}

// Open opens the store of a home. If another process owns it, that one does the work: then it is an error of
// sdk.CodeConflict if o has a Config, models, tools, sources or hooks, which that one lacks, and if it does not answer,
// one of sdk.CodeUnavailable after some 40 seconds. It is an error of sdk.CodeInvalid if o is not valid, and of
// sdk.CodeUnavailable if the store is of a newer version of cairn. A nil o is the zero value.
func Open(ctx context.Context, o *Options) (*Store, error) {
	if o == nil {
		o = &Options{}
	}
	options, err := o.hostOptions()
	if err != nil {
		return nil, err
	}
	if o.Config != nil {
		if err := checkSettings(ctx, options); err != nil {
			return nil, err
		}
	}
	// If another process owns the store and ends, the next request opens it again.
	t := follow.NewReconnectTransport(func(ctx context.Context) (*client.Connection, error) {
		return host.Host{}.Open(ctx, options)
	})
	conn, err := t.Connect(ctx)
	if err != nil {
		return nil, newError(ctx, err)
	}
	c, err := sdk.Dial(ctx, "http://localhost", &sdk.DialOptions{Directory: options.Dir, Transport: t, Home: o.Home})
	if err != nil {
		return nil, errors.Join(err, release(t))
	}
	return &Store{client: c, owner: conn.Owner, close: sync.OnceValue(func() error {
		return errors.Join(c.Close(), release(t))
	})}, nil
}

// release closes the connection that the transport has, which need not be the first one. It stops work and does not
// wait for it.
func release(t *follow.ReconnectTransport) error {
	conn := t.Release()
	if conn == nil {
		return nil
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	return conn.Close(ended)
}

// Client returns the client of the store. It is closed with the store.
func (s *Store) Client() *sdk.Client { return s.client }

// Owner describes the other process that did the work when the store was opened, such as "process 123 (since 15:04 on 2
// January)"; "" if this one does. If that one ends, this one takes over with the next request.
func (s *Store) Owner() string { return s.owner }

// Close stops work, so that the next program or server that opens the store resumes it, closes the store and returns
// when nothing of it runs any more, but for functions of the program that do not return when their context ends: they
// are left alone. To let work end before, call sdk.Session.Wait. It may be called more than once. A program that ends
// without it loses nothing that was acknowledged.
func (s *Store) Close() error { return s.close() }

// hostOptions checks the options and returns those of the host.
func (o *Options) hostOptions() (client.Options, error) {
	out := client.Options{Dir: o.Directory, Env: o.Env, Version: findVersion(), Note: o.Notes}
	if out.Env == nil {
		out.Env = os.Getenv
	}
	// Where: the home, and the directory.
	if o.Home != "" {
		if !filepath.IsAbs(o.Home) {
			return out, newInvalid("Home", "the home %q is not an absolute path", o.Home)
		}
		out.Env = config.Setenv(out.Env, "HOME", o.Home)
	}
	if out.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return out, fmt.Errorf("find the working directory: %w", err)
		}
		out.Dir = dir
	}
	if !filepath.IsAbs(out.Dir) {
		return out, newInvalid("Directory", "the directory %q is not an absolute path", o.Directory)
	}
	// What: the settings, and what the program adds.
	if o.Config != nil {
		var settings map[string]json.RawMessage
		if err := json.Unmarshal(o.Config, &settings); err != nil || settings == nil {
			return out, newInvalid("Config", "the settings are not a JSON object")
		}
		out.Env = config.Setenv(out.Env, "CONFIG_CONTENT", string(o.Config))
	}
	var err error
	out.Program, err = o.newProgram(out.Env)
	return out, err
}

// settingsName is how cairn names the settings of Options.Config in messages.
const settingsName = "CAIRN_CONFIG_CONTENT"

// checkSettings returns an error of CodeInvalid if the settings of the options are invalid. Those of files are the
// user's: a session says what is wrong with them.
func checkSettings(ctx context.Context, options client.Options) error {
	dirs, err := config.FindDirectories(options.Env)
	if err != nil {
		return nil // Open says so
	}
	settings, err := config.Load(ctx, config.Options{Dirs: dirs, Env: options.Env, All: true})
	if err != nil {
		return nil
	}
	for _, e := range settings.Errors {
		if e.File == settingsName {
			e.File = "Config"
			return newInvalid("Config", "%s", e.Error())
		}
	}
	// What a file may have with a warning is an error here: the program would not learn that its settings do nothing.
	for _, w := range settings.Warnings {
		if w.File == settingsName && (w.Kind == config.WarnUnknown || w.Kind == config.WarnUnread) {
			w.File = "Config"
			return newInvalid("Config", "%s", w.String())
		}
	}
	return nil
}

// newProgram returns what the program adds.
func (o *Options) newProgram(env func(string) string) (client.Program, error) {
	p := client.Program{IsLibrary: true, HasConfig: o.Config != nil, Logger: o.Logger}
	if p.Logger == nil {
		p.Logger = host.NewLogger(env)
	}
	var err error
	if p.Models, err = newModels(o.Models, p.Logger); err != nil {
		return p, err
	}
	if p.Tools, p.Asking, err = newTools(o.Tools, p.Logger); err != nil {
		return p, err
	}
	if p.Sources, err = newSources(o.Context, p.Logger); err != nil {
		return p, err
	}
	p.Extensions = newExtensions(o.Hooks, p.Logger)
	return p, nil
}

// newInvalid returns the error that a field of the options is invalid.
func newInvalid(field, format string, args ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalid, Message: fmt.Sprintf(format, args...), Field: field}
}

// findVersion returns the version of cairn in the program, "" if it is not known.
func findVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == "github.com/cairn-dev/cairn" {
			return m.Version
		}
	}
	return ""
}

// newError returns an error of the host in the terms of package sdk, as its client returns those of a server.
func newError(ctx context.Context, err error) error {
	e, ok := errors.AsType[*session.Error](err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !ok: // the store cannot be used: its disk is full, it is damaged, or of a newer version
		return &sdk.Error{Code: sdk.CodeUnavailable, Message: err.Error(), Err: err}
	}
	return &sdk.Error{
		Code: sdk.Code(e.Code), Message: e.Error(), Kind: e.Kind, ID: e.ID, Field: e.Field, Nearest: e.Nearest, Err: e.Err,
	}
}
