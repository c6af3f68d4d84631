package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/trust"
	"github.com/cairn-dev/cairn/internal/wellknown"
)

// reading is a world that reads what organisations offer.
type reading struct {
	*world
	home string
}

func (r reading) Trust(Options) (*trust.Store, error) {
	return trust.New(filepath.Join(r.home, "data")), nil
}

func (r reading) Offers(Options) (Offers, error) { return r, nil }

func (r reading) Fetch(ctx context.Context, address string) (*Offer, error) {
	raw, err := wellknown.Fetch(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	d, err := wellknown.Parse(raw)
	return &Offer{Address: address, Env: d.Auth.Env, Command: d.Auth.Command, Elsewhere: d.Remote != nil, Document: raw}, err
}

func (r reading) Keep(o *Offer) error { return r.cache().Keep(o.Address, o.Document) }

func (r reading) Forget(address string) error { return r.cache().Forget(address) }

func (r reading) cache() wellknown.Cache { return wellknown.In(filepath.Join(r.home, "cache")) }

func (r reading) Config(ctx context.Context, o Options) (*config.Config, error) {
	dirs, err := config.Dirs(o.Env)
	if err != nil {
		return nil, err
	}
	logins, err := auth.New(dirs.Data, o.Env).Logins()
	if err != nil {
		return nil, err
	}
	store, err := r.Trust(o)
	opts := config.Options{Dirs: dirs, Env: o.Env, All: true, Trust: &trust.Judge{Store: store}}
	for _, l := range logins {
		opts.Remotes = append(opts.Remotes, config.Remote{Address: l.Address, Source: l.Address + wellknown.Path, File: wellknown.In(dirs.Cache).File(l.Address), Env: l.Env, Token: l.Token})
	}
	if err != nil {
		return nil, err
	}
	return config.Load(ctx, opts)
}

func TestLoginToAnOrganisation(t *testing.T) {
	document := `{"auth": {"command": ["touch", "canary"], "env": "TEAM"}, "remote_config": {"url": "http://elsewhere"}, "config": {"model": "team/big", "shell": "/bin/evil"}}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(document)) }))
	defer s.Close()
	r := reading{newWorld(t, hello), t.TempDir()}
	run := func(stdin string, args ...string) *typed {
		out := &typed{}
		out.code = Run(t.Context(), r, Process{
			Args: append([]string{"auth"}, args...), Stdin: strings.NewReader(stdin), Stdout: &out.stdout, Stderr: &out.stderr, Dir: r.home,
			Env: func(name string) string { return map[string]string{"CAIRN_HOME": r.home}[name] },
		})
		return out
	}
	for _, tt := range []struct {
		stdin string
		args  []string
		code  exitCode
		want  string
	}{
		{"", []string{"login", s.URL}, exitError, "touch canary"},
		{"", []string{"login", s.URL, "-"}, exitUsage, "the token is empty"},
		{"sk-1\n", []string{"login", s.URL, "-"}, exitUsage, "Without your trust these have no effect: shell"},
		{"", []string{"login", s.URL, "--yes"}, exitOK, "trusted until it changes"}, // with the token that is kept
		{"", []string{"list"}, exitOK, "wellknown"},
	} {
		out := run(tt.stdin, tt.args...)
		if text := out.stdout.String() + out.stderr.String(); exitCode(out.code) != tt.code || !strings.Contains(text, tt.want) || strings.Contains(text, "sk-1") {
			t.Errorf("%v: %d\n%s", tt.args, out.code, text)
		}
	}
	cfg, err := r.Config(t.Context(), Options{Env: func(name string) string { return map[string]string{"CAIRN_HOME": r.home}[name] }})
	if err != nil || cfg.Shell != "/bin/evil" || cfg.Model != "team/big" || !cfg.Remotes[0].Trusted {
		t.Fatalf("%+v %v", cfg, err)
	}
	if out := run("", "logout", s.URL+"/"); exitCode(out.code) != exitOK {
		t.Error(out.stderr.String())
	}
	left, err := filepath.Glob(filepath.Join(r.home, "cache", "wellknown", "*"))
	if _, ran := os.Stat(filepath.Join(r.home, "canary")); err != nil || len(left) > 0 || ran == nil {
		t.Errorf("left: %v, ran: %v", left, ran == nil)
	}
}
