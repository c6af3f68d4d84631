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
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/host"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/sdk"
)

// The program is its own supervisor of commands. That is decided before main, since a program that did not ask for it
// would start itself again and again.
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
	// Config has settings as in cairn.json (docs/manual.md), an object. They win over those of files.
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
// sdk.CodeConflict if o adds models, tools, sources or hooks, and if it does not answer, one of sdk.CodeUnavailable
// after some 40 seconds. It is an error of sdk.CodeInvalid if o is not valid, and of sdk.CodeUnavailable if the store
// is of a newer version of cairn. A nil o is the zero value.
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
		return nil, newError(err)
	}
	c, err := sdk.Dial(ctx, "http://localhost", &sdk.DialOptions{Directory: options.Dir, Transport: t, Home: o.Home})
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	s := &Store{client: c, owner: conn.Owner}
	s.close = sync.OnceValue(func() error {
		// A context that has ended does not wait for work.
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		err := c.Close()
		if conn := t.Release(); conn != nil {
			err = errors.Join(err, conn.Close(ended))
		}
		return err
	})
	return s, nil
}

// Client returns the client of the store. It is closed with the store.
func (s *Store) Client() *sdk.Client { return s.client }

// Owner describes the other process that did the work when the store was opened, such as "process 123 (since 15:04 on 2
// January)"; "" if this one does. If that one ends, this one takes over with the next request.
func (s *Store) Owner() string { return s.owner }

// Close stops work, so that the next program or server that opens the store resumes it, closes the store and returns
// when nothing of it runs any more. To let work end before, call sdk.Session.Wait. It may be called more than once. A
// program that ends without it loses nothing that was acknowledged.
func (s *Store) Close() error { return s.close() }

// hostOptions checks the options and returns those of the host.
func (o *Options) hostOptions() (client.Options, error) {
	out := client.Options{Dir: o.Directory, Env: o.Env, Version: version(), Note: o.Notes}
	if out.Env == nil {
		out.Env = os.Getenv
	}
	// Where: the home, and the directory.
	if o.Home != "" {
		if !filepath.IsAbs(o.Home) {
			return out, invalid("Home", "the home %q is not an absolute path", o.Home)
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
		return out, invalid("Directory", "the directory %q is not an absolute path", o.Directory)
	}
	// What: the settings, and what the program adds.
	if o.Config != nil {
		var settings map[string]json.RawMessage
		if err := json.Unmarshal(o.Config, &settings); err != nil || settings == nil {
			return out, invalid("Config", "the settings are not a JSON object")
		}
		out.Env = config.Setenv(out.Env, "CONFIG_CONTENT", string(o.Config))
	}
	var err error
	out.Program, err = o.newProgram()
	return out, err
}

// settingsName is how cairn names the settings of Options.Config in messages.
const settingsName = "CAIRN_CONFIG_CONTENT"

// checkSettings returns an error of CodeInvalid if the settings of the options are invalid. Those of files are the
// user's: a session says what is wrong with them.
func checkSettings(ctx context.Context, options client.Options) error {
	dirs, err := config.FindDirectories(options.Env)
	if err == nil {
		_, err = config.Load(ctx, config.Options{Dirs: dirs, Env: options.Env})
	}
	if err == nil || !strings.Contains(err.Error(), settingsName) {
		return nil
	}
	return invalid("Config", "%s", strings.ReplaceAll(err.Error(), settingsName, "Config"))
}

func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.Default()
	}
	return o.Logger
}

// newProgram returns what the program adds.
func (o *Options) newProgram() (client.Program, error) {
	p := client.Program{IsLibrary: true, Logger: o.Logger}
	var err error
	if p.Models, err = newModels(o.Models); err != nil {
		return p, err
	}
	if p.Tools, p.Asking, err = newTools(o.Tools, o.logger()); err != nil {
		return p, err
	}
	if p.Sources, err = newSources(o.Context); err != nil {
		return p, err
	}
	p.Extensions = o.Hooks.extensions()
	return p, nil
}

func invalid(field, format string, args ...any) error {
	return &sdk.Error{Code: sdk.CodeInvalid, Message: fmt.Sprintf(format, args...), Field: field}
}

// version returns the version of cairn in the program, "" if it is not known.
func version() string {
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

// newError returns an error of the host in the terms of package sdk.
func newError(err error) error {
	e, ok := errors.AsType[*session.Error](err)
	switch {
	case !ok && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return err
	case !ok: // the store cannot be used: its disk is full, it is damaged, or of a newer version
		return &sdk.Error{Code: sdk.CodeUnavailable, Message: err.Error()}
	}
	return &sdk.Error{Code: sdk.Code(e.Code), Message: e.Error(), Kind: e.Kind, ID: e.ID, Field: e.Field}
}
