package access

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// loginWithPlugin logs in with a plugin of this directory. done is false if none logs in at the provider, or if the
// chosen method is a key. The method is an index or a part of a label; "" asks for it.
func (g authCommands) loginWithPlugin(ctx context.Context, id, method string) (done bool, err error) {
	c, err := g.inv.LoadConfig(ctx)
	if err != nil || len(c.ListPlugins()) == 0 {
		return false, nil //nolint:nilerr // a broken configuration is no reason not to keep a key
	}
	err = g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		// The methods of a provider are those of a plugin only if one logs in there.
		loaded, err := c.Plugins(ctx)
		if err != nil || !slices.ContainsFunc(loaded.Data, func(one api.Plugin) bool {
			return slices.Contains(one.Logins, id)
		}) {
			return err
		}
		l := api.LoginClient{Client: c}
		all, err := l.ListMethods(ctx)
		if err != nil {
			return err
		}
		offered := all[id]
		if len(offered) == 0 || len(offered) == 1 && offered[0].Type == "api" {
			return nil
		}
		// Choose the method, and log in unless that is a key.
		n, err := g.chooseMethod(ctx, offered, method)
		if err != nil || offered[n].Type != "oauth" {
			return err
		}
		done = true
		if err := g.inv.RecordSettings(ctx, "log in at "+id+" with a plugin"); err != nil {
			return err
		}
		page, err := l.Begin(ctx, id, n)
		if err != nil {
			return err
		}
		g.inv.Err.Printf("Open %s\n", terminal.FirstLine(page.URL, 2000))
		if page.Instructions != "" {
			g.inv.Err.Printf("%s\n", terminal.FirstLine(page.Instructions, 400))
		}
		code := ""
		if page.Method == "code" {
			if code, err = g.readLine(ctx, "Code"); err != nil {
				return err
			}
			if code == "" { // without one the login would wait
				return cli.UsageErrorf("the login at %.40s was stopped, since no code was entered; begin it again", id)
			}
		}
		if err := l.Await(ctx, id, n, code); err != nil {
			return err
		}
		g.inv.ReportChange(cli.Change{Provider: id}, fmt.Sprintf("Logged in at %s.", terminal.FirstLine(id, 40)))
		return nil
	})
	return done, err
}

// chooseMethod returns the index of the method that was named, else the one that the person chooses; without a choice the
// first one.
func (g authCommands) chooseMethod(ctx context.Context, offered []api.LoginMethod, named string) (int, error) {
	if named == "" && len(offered) > 1 && g.inv.Terminal != nil {
		for i, m := range offered {
			g.inv.Err.Printf("%4d  %s\n", i+1, terminal.FirstLine(m.Label, 100))
		}
		text, err := g.readLine(ctx, "Method, by number")
		if err != nil {
			return 0, err
		}
		named = text
	}
	if named == "" {
		return 0, nil
	}
	if n, err := strconv.Atoi(named); err == nil && n >= 1 && n <= len(offered) {
		return n - 1, nil
	}
	found := slices.IndexFunc(offered, func(m api.LoginMethod) bool {
		return strings.Contains(strings.ToLower(m.Label), strings.ToLower(named))
	})
	if found < 0 {
		var labels []string
		for i, m := range offered {
			labels = append(labels, fmt.Sprintf("%d (%s)", i+1, terminal.FirstLine(m.Label, 60)))
		}
		return 0, cli.UsageErrorf("--method %.40q is none of %s", named, strings.Join(labels, ", "))
	}
	return found, nil
}

// readLine asks for a line at the terminal.
func (g authCommands) readLine(ctx context.Context, question string) (string, error) {
	if g.inv.Terminal == nil {
		return "", cli.UsageErrorf("the login asks for a code, and there is no terminal to type it")
	}
	tty, err := g.inv.Terminal()
	if err != nil {
		return "", err
	}
	defer tty.Close()
	in := bufio.NewReader(io.LimitReader(tty, 64<<10))
	terminal.NewTerminalStream(tty, g.inv.Err.Color).Printf("%s > ", question)
	text, err := terminal.ReadTyped(ctx, func() (string, error) { return in.ReadString('\n') })
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(text), err
}
