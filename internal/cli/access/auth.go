package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/models/catalog"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// authCommands are `cairn auth …`.
type authCommands struct{ inv *cli.Invocation }

func (g authCommands) authCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "auth", Aliases: []string{"providers"}, Short: "Store, list and remove API keys",
		Long: "Keys are stored in the keyring of the operating system or, if no keyring is available, in one file that\n" +
			"only you can read. Keys in environment variables are used too. A key is sent to its own provider only and\n" +
			"never printed.",
	}, g.authLogin(), g.authList(), g.authLogout(), g.authMove())
}

// authLogin returns the command that stores a key or logs in. The way is decided in this order: a provider from the
// list if none is named, an organisation for a URL, the browser, else a key that is read without echo.
func (g authCommands) authLogin() *cobra.Command {
	var yes, browser, file bool
	var provider, method string // OpenCode's names of them
	cmd := &cobra.Command{
		Use: "login [PROVIDER|URL] [-]", Short: "Store the key of a provider, or log in to an organisation",
		Args: cobra.MaximumNArgs(2),
		Long: "Read a key from the terminal without echo, or from standard input for -, and store it. A key cannot be an\n" +
			"argument, because other users could read it there. Without a provider, choose one of a list.\n\n" +
			"With the URL of an organisation, log in there and use the configuration at its /.well-known/opencode.",
		Example: "  cairn auth login openai\n  pass show openai | cairn auth login openai -\n" +
			"  cairn auth login openrouter --browser\n  cairn auth login https://example.org",
		ValidArgsFunction: cli.FirstOnly(completeProvider),
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			args, err := loginArgs(args, provider)
			if err != nil {
				return err
			}
			// Without a provider, choose one of the list; the choice may imply the browser.
			if len(args) == 0 {
				choice, err := chooseProvider(ctx, g.inv)
				if err != nil {
					return err
				}
				args, browser = []string{choice.ID}, browser || choice.browser
			}
			if file {
				g.withoutKeyring()
			}
			// By precedence: an organisation, a login in the browser, a key.
			if cli.IsURL(args[0]) {
				return g.loginOrganisation(ctx, organisation{args[0], args, yes})
			}
			known, err := g.knownProvider(ctx, args[0])
			if err != nil {
				return err
			}
			if len(args) == 1 {
				if done, err := g.loginWithPlugin(ctx, args[0], method); done || err != nil {
					return err
				}
			}
			if method != "" && !strings.Contains(strings.ToLower(method), "key") {
				return cli.UsageErrorf("no plugin here logs in at %.40q; without one --method can only be an API key, and "+
					"--browser logs in with a browser where that is offered", args[0])
			}
			if browser {
				return g.loginWithBrowser(ctx, args[0])
			}
			return g.storeKey(ctx, args, known)
		}),
	}
	cmd.Flags().BoolVar(&file, "file", false, "store the key in a file even if a keyring is available")
	cmd.Flags().
		BoolVar(&browser, "browser", false, "log in with a browser instead of a key (openrouter, github-copilot)")
	cmd.Flags().StringVarP(&provider, "provider", "p", "", "")
	cmd.Flags().StringVarP(&method, "method", "m", "", "log in with this `METHOD` of a plugin: its number or a part of its label")
	cli.HideFlags(cmd.Flags(), "provider")
	cmd.Flags().BoolVar(&yes, "yes", false, "trust the organisation's configuration without asking")
	return g.inv.AddJSONFlag(cmd)
}

// storeKey reads the key of a provider and stores it. Known reports whether cairn knows the provider.
func (g authCommands) storeKey(ctx context.Context, args []string, known bool) error {
	store, err := g.inv.OpenKeys()
	if err != nil {
		return err
	}
	key, err := g.readKey(ctx, args)
	if err != nil {
		return err
	}
	if err := g.inv.RecordSettings(ctx, "store the key of "+args[0]); err != nil {
		return err
	}
	if err := g.whileKeyring(func() error { return store.Set(ctx, args[0], key) }); err != nil {
		return classifyStoreError(err)
	}
	g.inv.ReportChange(
		loginChange(store, args[0]),
		fmt.Sprintf("Stored the key of %s in %s.", args[0], store.DescribePlace(args[0])),
	)
	g.notePassed(store, args[0])
	if !known {
		g.inv.Err.Printf(
			"! %s is an unknown provider; to use it, run cairn models --refresh if models.dev lists it, "+
				"or describe it under provider.%[1]s in the configuration\n",
			terminal.FirstLine(args[0], 40),
		)
	}
	return nil
}

// loginArgs are the provider and perhaps "-"; OpenCode names the provider by a flag.
func loginArgs(args []string, provider string) ([]string, error) {
	if provider != "" {
		args = append([]string{provider}, args...)
	}
	switch {
	case len(args) > 1 && args[1] != "-":
		return nil, cli.NewExitError(
			cli.ExitUsage,
			errors.New("a key cannot be an argument, where other users could read it"),
			"Type it when asked, or pipe it in: cairn auth login "+terminal.FirstLine(args[0], 40)+" -",
		)
	default:
		return args, nil
	}
}

// withoutKeyring has what is kept from now on be kept in the file.
func (g authCommands) withoutKeyring() {
	env := g.inv.Env
	g.inv.Env = func(name string) string {
		if name == "CAIRN_DISABLE_KEYRING" {
			return "1"
		}
		return env(name)
	}
}

// loginChange returns the change that a login reports to scripts. The file is named only if the key is in it.
func loginChange(store *auth.Store, provider string) cli.Change {
	c := cli.Change{Provider: provider}
	if where := store.DescribePlace(provider); where == store.Path() {
		c.File = where
	}
	return c
}

// loginWithBrowser logs in where the vendor offers it.
func (g authCommands) loginWithBrowser(ctx context.Context, id string) error {
	o, err := g.inv.HostOptions("")
	if err != nil {
		return err
	}
	if err := g.inv.RecordSettings(ctx, "log in at "+id+" with a browser"); err != nil {
		return err
	}
	err = g.inv.Host.Login(ctx, o, id, func(url, code string) {
		g.inv.Err.Printf("Open %s\n", terminal.FirstLine(url, 1000))
		if code != "" {
			g.inv.Err.Printf("and type the code %s\n", g.inv.Err.PaintText(terminal.Bold, terminal.FirstLine(code, 40)))
		}
	})
	if err != nil {
		return classifyStoreError(err)
	}
	g.inv.ReportChange(cli.Change{Provider: id}, fmt.Sprintf("Logged in at %s.", terminal.FirstLine(id, 40)))
	if store, err := g.inv.OpenKeys(); err == nil {
		g.noteLeft(store, id)
	}
	return nil
}

// knownProvider reports whether the configuration or the catalog has the provider. One that looks like a misspelling is
// an error.
func (g authCommands) knownProvider(ctx context.Context, id string) (bool, error) {
	o, err := g.inv.HostOptions("")
	if err != nil {
		return false, err
	}
	cfg, err := g.inv.Host.Config(ctx, o)
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
	if unknown && len(e.Nearest) > 0 && spelling.Levenshtein(id, e.Nearest[0]) <= 2 {
		return false, &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return !unknown, nil
}

// completeProvider completes the providers that cairn knows, also before anything is stored.
func completeProvider(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	c, err := catalog.New(catalog.Overlay{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, p := range c.Providers() {
		if strings.HasPrefix(p.ID, typed) {
			all = append(all, cobra.CompletionWithDesc(p.ID, p.Name))
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// maxKey bounds a key that is read from standard input.
const maxKey = 64 << 10

func (g authCommands) readKey(ctx context.Context, args []string) (auth.Secret, error) {
	if len(args) == 2 {
		b, err := io.ReadAll(io.LimitReader(g.inv.Stdin, maxKey+1))
		if err == nil && len(b) > maxKey {
			err = cli.UsageErrorf("the key is longer than %d bytes", maxKey)
		}
		return auth.NewSecret(string(b)), err
	}
	if g.inv.Terminal == nil {
		return auth.Secret{}, terminal.ErrNoTerminal
	}
	tty, err := g.inv.Terminal()
	if err != nil {
		return auth.Secret{}, cli.NewExitError(
			cli.ExitUsage,
			err,
			"Pipe the key in: … | cairn auth login "+terminal.FirstLine(args[0], 40)+" -",
		)
	}
	defer tty.Close()
	key, err := terminal.ReadHidden(ctx, tty, fmt.Sprintf("Key of %s (not shown): ", terminal.FirstLine(args[0], 40)))
	_, _ = io.WriteString(tty, "\n") // only looks
	return auth.NewSecret(key), err
}

// keyInfo is a line of auth list. It holds no key.
type keyInfo struct {
	Provider string    `json:"provider"`
	Kind     auth.Kind `json:"kind"`
	From     string    `json:"from"`
	Problem  string    `json:"problem,omitzero"` // why it cannot be used now
}

// authList returns the command that lists keys without showing them. Notes come after the list.
func (g authCommands) authList() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the providers that have a key", Args: cobra.NoArgs,
		Example: "  cairn auth list",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			list, notes, err := g.knownKeys(ctx)
			if err != nil {
				return err
			}
			// The notes follow the list, whatever its form.
			defer func() {
				for _, text := range notes {
					g.inv.Note(text)
				}
			}()
			return cli.List[keyInfo]{
				Head: []string{"PROVIDER", "KIND", "FROM"},
				Row: func(k keyInfo) []string {
					return []string{terminal.FirstLine(k.Provider, 40), string(k.Kind), terminal.FirstLine(k.From, 100)}
				},
				Empty: "No keys are stored. Store one with: cairn auth login openai",
			}.Print(g.inv, list)
		}),
	})
}

// knownKeys lists stored keys and those that the environment holds for providers of the catalog.
func (g authCommands) knownKeys(ctx context.Context) (list []keyInfo, notes []string, err error) {
	// Read the stored keys and what is wrong with them.
	store, err := g.inv.OpenKeys()
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
	// Then keys of the environment, for the providers of the catalog that have no stored key.
	c, err := catalog.New(catalog.Overlay{})
	if err != nil {
		return nil, nil, err
	}
	for _, p := range c.Providers() {
		if has[p.ID] {
			continue
		}
		k, ok, err := store.Get(p.ID, p.Env...)
		if _, out := errors.AsType[*auth.Unreachable](err); err != nil &&
			!out { // what cannot be reached is in the notes
			return nil, nil, err
		}
		if ok {
			list = append(list, keyInfo{p.ID, k.Kind, k.From, ""})
		}
	}
	return list, notes, nil
}

// authMove returns the command that moves all keys. Secrets in the old place are removed only after the move.
func (g authCommands) authMove() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "move keyring|file", Short: "Move all stored keys into the keyring, or out of it", Args: cobra.ExactArgs(1),
		Long:      "Move all keys to one place. If a key cannot be stored there, no key is moved.",
		Example:   "  cairn auth move keyring\n  cairn auth move file",
		ValidArgs: []string{string(auth.InKeyring), string(auth.InFile)},
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// Cobra does not check ValidArgs, so check the place here.
			to := auth.Place(args[0])
			if to != auth.InKeyring && to != auth.InFile {
				return cli.UsageErrorf("keys can be moved to keyring or file, not to %q", terminal.FirstLine(args[0], 40))
			}
			store, err := g.inv.OpenKeys()
			if err != nil {
				return err
			}
			// Move, then remove what the move left in the keyring.
			var n int
			err = g.whileKeyring(func() (err error) {
				if n, err = store.Move(ctx, to); err == nil {
					_, err = store.CleanUp(ctx, "", true)
				}
				return err
			})
			if err != nil {
				return err
			}
			// Report, and say what could not be removed.
			g.inv.ReportChange(
				cli.Change{Count: &n},
				fmt.Sprintf("Moved %d keys; all stored keys are in the %s.", n, to),
			)
			g.noteLeft(store, "")
			return nil
		}),
	})
}
