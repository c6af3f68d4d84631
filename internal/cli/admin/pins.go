package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// pinCommands are `cairn session pin`, `pins` and `unpin`.
type pinCommands struct{ inv *cli.Invocation }

// pinPrefix is the beginning of the keys of pinned texts among the entries of the system context.
const pinPrefix = "pin."

// Pin is a pinned text of a session. Number is that of session unpin.
type Pin struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
}

// listPins returns the pinned texts in their order.
func listPins(ctx context.Context, c *api.Client, id session.ID) ([]Pin, error) {
	entries, err := api.Contexts{Client: c}.ListEntries(ctx, id)
	pins := []Pin{}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Key, pinPrefix)
		n, nerr := strconv.Atoi(digits)
		if !ok || nerr != nil {
			continue
		}
		p := Pin{Number: n, Text: string(e.Value)}
		_ = json.Unmarshal(e.Value, &p.Text) // a value of another client stays as it is
		pins = append(pins, p)
	}
	return pins, err
}

// addPin pins the text behind the others and returns its number. Another client may take the same number at the same
// time: then the text gets the next one.
func addPin(ctx context.Context, c *api.Client, id session.ID, text string) (n int, err error) {
	pins, err := listPins(ctx, c, id)
	if err != nil {
		return 0, err
	}
	value, err := json.Marshal(text, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return 0, err
	}
	for _, p := range pins {
		n = max(n, p.Number)
	}
	for range session.MaxEntries + 1 { // the entry after the last possible one is refused for another reason
		n++
		entry := session.ContextEntry{Key: pinKey(n), Value: value}
		err = api.Contexts{Client: c}.AddEntry(ctx, id, entry)
		if !errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			break
		}
	}
	return n, err
}

func pinKey(n int) string { return fmt.Sprintf("%s%03d", pinPrefix, n) }

// sessionArgument splits off the session that the first of several arguments names; without one it is the newest.
func sessionArgument(args []string) (name string, rest []string) {
	if len(args) > 1 && (args[0] == "last" || strings.HasPrefix(args[0], string(session.PrefixSession))) {
		return args[0], args[1:]
	}
	return "last", args
}

// sessionPin returns the command that pins a text to a session.
func (g pinCommands) sessionPin() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "pin [SESSION] TEXT… | -", Short: "Pin a text: the model keeps it however long the session gets",
		Long: "Pin a text to a session: it becomes part of the system context with the next turn, is never\n" +
			"summarised, and stays until cairn session unpin removes it.",
		Args:    cobra.MinimumNArgs(1),
		Example: "  cairn session pin \"The API must stay compatible\"\n  cairn session pin last - < constraints.md",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// The first argument may be a session; the rest, or stdin, is the text.
			name, words := sessionArgument(args)
			text, err := g.inv.ReadPrompt(words)
			if err != nil {
				return err
			}
			if strings.TrimSpace(text) == "" {
				return cli.UsageErrorf("the text is empty")
			}
			// Add the text under the next number, and report the number.
			return g.inv.WithSession(ctx, name, func(ctx context.Context, c *api.Client, s *session.Session) error {
				n, err := addPin(ctx, c, s.ID, text)
				change := cli.Change{SessionID: s.ID, Key: strconv.Itoa(n)}
				text := fmt.Sprintf("pinned as %d; the model gets it with the next turn", n)
				return g.inv.FinishChange(err, change, text)
			})
		}),
	})
}

func (g pinCommands) sessionPins() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "pins [SESSION]", Short: "List the pinned texts of a session", Args: cobra.MaximumNArgs(1),
		Example: "  cairn session pins last",
		RunE: g.inv.SessionAction(func(ctx context.Context, c *api.Client, s *session.Session) error {
			pins, err := listPins(ctx, c, s.ID)
			if err != nil {
				return err
			}
			return cli.List[Pin]{
				Head:  []string{"#", "TEXT"},
				Row:   func(p Pin) []string { return []string{strconv.Itoa(p.Number), terminal.FirstLine(p.Text, 75)} },
				Empty: fmt.Sprintf("No texts are pinned to %s.", s.ID),
			}.Print(g.inv, pins)
		}),
	})
}

// sessionUnpin returns the command that removes a pinned text by its number.
func (g pinCommands) sessionUnpin() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "unpin [SESSION] NUMBER", Short: "Remove a pinned text", Args: cobra.RangeArgs(1, 2),
		Example: "  cairn session unpin 1",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			// Read the arguments; the session is optional.
			name, rest := sessionArgument(args)
			n, err := strconv.Atoi(rest[0])
			if err != nil || len(rest) != 1 {
				return cli.UsageErrorf("NUMBER must be one of cairn session pins, got %q", terminal.FirstLine(rest[0], 40))
			}
			// Remove the text with this number, if there is one.
			return g.inv.WithSession(ctx, name, func(ctx context.Context, c *api.Client, s *session.Session) error {
				pins, err := listPins(ctx, c, s.ID)
				if err != nil {
					return err
				}
				for _, p := range pins {
					if p.Number != n {
						continue
					}
					err := api.Contexts{Client: c}.RemoveEntry(ctx, s.ID, pinKey(n))
					return g.inv.FinishChange(err, cli.Change{SessionID: s.ID, Key: rest[0]}, "unpinned "+rest[0])
				}
				return cli.AddNotFoundHint(session.NotFound("pinned text", rest[0]),
					"cairn session pins shows the pinned texts with their numbers")
			})
		}),
	})
}
