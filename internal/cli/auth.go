package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/catalog"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/spelling"
)

func (a *app) authCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "auth", Aliases: []string{"providers"}, Short: "Keep, list and remove providers' keys",
		Long: "Keys are kept in the keyring of the operating system or, where there is none that can be opened, in one file\n" +
			"that only you can read; others are taken from the environment. They are sent to the addresses of their\n" +
			"provider only and shown to nobody.",
	}
	cmd.AddCommand(a.authLogin(), a.authList(), a.authLogout(), a.authMove())
	return parent(cmd)
}

// keys opens the file of keys.
func (a *app) keys() (*auth.Store, error) {
	dirs, err := config.FindDirectories(a.Env)
	if err != nil {
		return nil, err
	}
	return auth.New(dirs.Data, a.Env), nil
}

func (a *app) authLogin() *cobra.Command {
	var yes, asJSON, browser, file bool
	var provider, method string // OpenCode's names of them
	cmd := &cobra.Command{
		Use: "login PROVIDER|URL [-]", Short: "Keep the key of a provider, or log in to an organisation", Args: cobra.MaximumNArgs(2),
		Long: "Login reads a key from the terminal, without showing it, or from standard input for -. It never takes a\nkey as an argument, where other users could read it.\n\n" +
			"With the URL of an organisation it takes the configuration that is offered at its /.well-known/opencode.",
		Example: "  cairn auth login openai\n  pass show openai | cairn auth login openai -\n  cairn auth login openrouter --browser\n  cairn auth login https://example.org",
		RunE: a.does(func(ctx context.Context, args []string) error {
			args, err := loginArgs(args, provider, method)
			if err != nil {
				return err
			}
			if file {
				a.withoutKeyring()
			}
			if isAddress(args[0]) {
				return a.login(ctx, organisation{args[0], args, yes, asJSON})
			}
			known, err := a.knownProvider(ctx, args[0])
			if err != nil {
				return err
			}
			if browser {
				return a.loginWithBrowser(ctx, args[0], asJSON)
			}
			store, err := a.keys()
			if err != nil {
				return err
			}
			key, err := a.readKey(ctx, args)
			if err != nil {
				return err
			}
			if err := a.whileKeyring(func() error { return store.Set(ctx, args[0], key) }); err != nil {
				return unkept(err)
			}
			a.changed(asJSON, kept(store, args[0]), fmt.Sprintf("The key of %s is kept in %s.", args[0], store.Where(args[0])))
			a.notePassed(store, args[0])
			if !known {
				a.err.printf("! %s is neither in the catalog nor in the configuration here; describe it under provider.%[1]s\n", line(args[0], 40))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&file, "file", false, "keep it in the file, also where there is a keyring")
	cmd.Flags().BoolVar(&browser, "browser", false, "log in with a browser instead: at openrouter or github-copilot")
	cmd.Flags().StringVarP(&provider, "provider", "p", "", "")
	cmd.Flags().StringVarP(&method, "method", "m", "", "")
	hide(cmd.Flags(), "provider", "method")
	cmd.Flags().BoolVar(&yes, "yes", false, "trust what an organisation's configuration may do, without asking")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// loginArgs are the provider and perhaps "-"; OpenCode names the provider by a flag, and how to log in there.
func loginArgs(args []string, provider, method string) ([]string, error) {
	if provider != "" {
		args = append([]string{provider}, args...)
	}
	switch {
	case len(args) == 0:
		return nil, usagef("which provider? Say cairn auth login PROVIDER; cairn models shows what is known")
	case method != "" && !strings.Contains(strings.ToLower(method), "key"):
		return nil, usagef("--method can only be an API key here; --browser logs in with a browser where that is offered")
	case len(args) > 1 && args[1] != "-":
		return nil, &exit{exitUsage, errors.New("a key is not taken from the command line, where others can read it"), "Type it when asked, or pipe it in: cairn auth login " + line(args[0], 40) + " -"}
	default:
		return args, nil
	}
}

// withoutKeyring has what is kept from now on be kept in the file.
func (a *app) withoutKeyring() {
	env := a.Env
	a.Env = func(name string) string {
		if name == "CAIRN_DISABLE_KEYRING" {
			return "1"
		}
		return env(name)
	}
}

// kept is what a login tells scripts. The file is named only if the key is in it.
func kept(store *auth.Store, provider string) change {
	c := change{Provider: provider}
	if where := store.Where(provider); where == store.Path() {
		c.File = where
	}
	return c
}

// loginWithBrowser logs in where the vendor offers it.
func (a *app) loginWithBrowser(ctx context.Context, id string, asJSON bool) error {
	o, err := a.options("")
	if err != nil {
		return err
	}
	err = a.host.Login(ctx, o, id, func(url, code string) {
		a.err.printf("Open %s\n", line(url, 1000))
		if code != "" {
			a.err.printf("and type the code %s\n", a.err.paint(bold, line(code, 40)))
		}
	})
	if err != nil {
		return unkept(err)
	}
	a.changed(asJSON, change{Provider: id}, fmt.Sprintf("You are logged in at %s.", line(id, 40)))
	if store, err := a.keys(); err == nil {
		a.noteLeft(store, id)
	}
	return nil
}

// knownProvider reports whether the configuration or the catalog has the provider. One that looks like a misspelling is
// an error.
func (a *app) knownProvider(ctx context.Context, id string) (bool, error) {
	o, err := a.options("")
	if err != nil {
		return false, err
	}
	cfg, err := a.host.Config(ctx, o)
	if err == nil { // a broken configuration is no reason not to keep a key
		if _, ok := cfg.Provider[id]; ok {
			return true, nil
		}
	}
	c, err := catalog.New(catalog.Overlay{})
	if err != nil {
		return false, err
	}
	_, err = c.Provider(id)
	e, unknown := errors.AsType[*catalog.UnknownError](err)
	if unknown && len(e.Nearest) > 0 && spelling.Distance(id, e.Nearest[0]) <= 2 {
		return false, &exit{code: exitUsage, err: err}
	}
	return !unknown, nil
}

// maxKey bounds a key that is read from standard input.
const maxKey = 64 << 10

func (a *app) readKey(ctx context.Context, args []string) (auth.Secret, error) {
	if len(args) == 2 {
		b, err := io.ReadAll(io.LimitReader(a.Stdin, maxKey+1))
		if err == nil && len(b) > maxKey {
			err = usagef("the key has more than %d bytes", maxKey)
		}
		return auth.NewSecret(string(b)), err
	}
	if a.Terminal == nil {
		return auth.Secret{}, errNoTerminal
	}
	tty, err := a.Terminal()
	if err != nil {
		return auth.Secret{}, &exit{exitUsage, err, "Pipe the key in: … | cairn auth login " + line(args[0], 40) + " -"}
	}
	defer tty.Close()
	key, err := readHidden(ctx, tty, fmt.Sprintf("Key of %s (it is not shown): ", line(args[0], 40)))
	_, _ = io.WriteString(tty, "\n") // only looks
	return auth.NewSecret(key), err
}

// readHidden reads a line without echo, which is off before the prompt shows. When ctx ends first the terminal is put
// back as it was.
func readHidden(ctx context.Context, tty io.ReadWriter, prompt string) (string, error) {
	f, ok := tty.(interface{ Fd() uintptr })
	if !ok {
		_, _ = io.WriteString(tty, prompt) // reading will fail too
		text, err := bufio.NewReader(io.LimitReader(tty, maxKey)).ReadString('\n')
		return strings.TrimSpace(text), err
	}
	fd := int(f.Fd())
	restore, err := hideTyping(fd)
	if err != nil {
		return "", err
	}
	defer restore()
	_, _ = io.WriteString(tty, prompt) // reading will fail too
	return readTyped(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
}

// keyInfo is a line of auth list. It holds no key.
type keyInfo struct {
	Provider string    `json:"provider"`
	Kind     auth.Kind `json:"kind"`
	From     string    `json:"from"`
	Problem  string    `json:"problem,omitzero"` // why it cannot be used now
}

func (a *app) authList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the providers that have a key", Args: cobra.NoArgs,
		Example: "  cairn auth list",
		RunE: a.does(func(ctx context.Context, _ []string) error {
			list, notes, err := a.knownKeys(ctx)
			if err != nil {
				return err
			}
			defer func() {
				for _, text := range notes {
					a.note(text)
				}
			}()
			if asJSON {
				return a.printJSON(list)
			}
			if len(list) == 0 {
				a.err.printf("There are no keys. Keep one: cairn auth login openai\n")
				return nil
			}
			t := a.table("PROVIDER", "KIND", "FROM")
			for _, k := range list {
				t.row(line(k.Provider, 40), string(k.Kind), line(k.From, 100))
			}
			t.print()
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// knownKeys lists stored keys and those that the environment holds for providers of the catalog.
func (a *app) knownKeys(ctx context.Context) (list []keyInfo, notes []string, err error) {
	store, err := a.keys()
	if err != nil {
		return nil, nil, err
	}
	stored, err := store.List()
	if err != nil {
		return nil, nil, err
	}
	problems, notes, err := keyProblems(ctx, store)
	if err != nil {
		return nil, nil, err
	}
	list, has := []keyInfo{}, map[string]bool{}
	for _, s := range stored {
		list, has[s.Provider] = append(list, keyInfo{s.Provider, s.Kind, s.From, problems[s.Provider]}), true
	}
	c, err := catalog.New(catalog.Overlay{})
	if err != nil {
		return nil, nil, err
	}
	for _, p := range c.Providers() {
		if has[p.ID] {
			continue
		}
		k, ok, err := store.Get(p.ID, p.Env...)
		if _, out := errors.AsType[*auth.Unreachable](err); err != nil && !out { // of what is out of reach the notes tell
			return nil, nil, err
		}
		if ok {
			list = append(list, keyInfo{p.ID, k.Kind, k.From, ""})
		}
	}
	return list, notes, nil
}

func (a *app) authMove() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "move keyring|file", Short: "Take all kept keys into the keyring, or out of it", Args: cobra.ExactArgs(1),
		Long:      "Move takes every kept key to one place. If one of them cannot be taken there, all stay where they are.",
		Example:   "  cairn auth move keyring\n  cairn auth move file",
		ValidArgs: []string{string(auth.InKeyring), string(auth.InFile)},
		RunE: a.does(func(ctx context.Context, args []string) error {
			to := auth.Place(args[0])
			if to != auth.InKeyring && to != auth.InFile {
				return usagef("keys are kept in the keyring or in the file, not in %q", line(args[0], 40))
			}
			store, err := a.keys()
			if err != nil {
				return err
			}
			var n int
			err = a.whileKeyring(func() (err error) {
				if n, err = store.Move(ctx, to); err == nil {
					_, err = store.Sweep(ctx, "", true)
				}
				return err
			})
			if err != nil {
				return err
			}
			a.changed(asJSON, change{Count: &n}, fmt.Sprintf("%d moved; all kept keys are in the %s.", n, to))
			a.noteLeft(store, "")
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
