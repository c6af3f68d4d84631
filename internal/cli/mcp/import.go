package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/location/config"
)

func (g serverCommands) importCommand() *cobra.Command {
	var edit editFlags
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "Add the servers of other programs' files to your configuration",
		Args: cobra.MinimumNArgs(1),
		Long: "Add the servers of files such as .mcp.json (Claude Code), claude_desktop_config.json (Claude Desktop),\n" +
			".vscode/mcp.json (VS Code) and .cursor/mcp.json (Cursor). ${NAME} and ${env:NAME} become {env:NAME}.\n" +
			"What cannot be taken over is named, as are servers whose names are taken; the others are added.",
		Example: "  cairn mcp import .mcp.json\n  cairn mcp import --project .vscode/mcp.json",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			found := map[string]storedServer{}
			for _, name := range args {
				// Read and convert one file.
				text, err := g.readFile(name)
				if err != nil {
					return err
				}
				servers, notes, err := convertServers(text)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				for _, n := range notes {
					g.inv.Note(name + ": " + n)
				}
				maps.Copy(found, servers)
			}
			// A file without servers is probably the wrong one.
			files := strings.Join(args, ", ")
			if len(found) == 0 {
				err := fmt.Errorf("there are no MCP servers to add in %s", files)
				return cli.NewExitError(cli.ExitUsage, err,
					"They are looked for under mcpServers, servers and mcp.servers.")
			}
			if err := g.leaveOutTaken(ctx, found, edit, files); err != nil {
				return err
			}
			return g.store(ctx, found, edit)
		}),
	}
	edit.addTo(cmd)
	return g.inv.AddJSONFlag(cmd)
}

// leaveOutTaken removes the servers whose names are taken from those that are found in files, with a note for each. It
// is an error if none is left.
func (g serverCommands) leaveOutTaken(
	ctx context.Context, found map[string]storedServer, edit editFlags, files string,
) error {
	c, err := g.inv.LoadConfig(ctx)
	if err != nil {
		return err
	}
	// Find those that are there.
	var taken []string
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !edit.replace && edit.isTaken(c, name) {
			taken = append(taken, name)
		}
	}
	if len(taken) == len(found) {
		err := fmt.Errorf("all servers of %s are configured already: %s", files, strings.Join(taken, ", "))
		return cli.NewExitError(cli.ExitUsage, err, "Nothing was changed. --replace replaces them.")
	}
	// Leave them out.
	for _, name := range taken {
		delete(found, name)
		g.inv.Note(fmt.Sprintf("the server %q is left out: there is one of this name already; --replace replaces it", name))
	}
	return nil
}

// maxImport bounds a file of servers, in bytes.
const maxImport = 4 << 20

// readFile reads a file that a person names. It must be a regular one: a device or a pipe may have no end.
func (g serverCommands) readFile(name string) ([]byte, error) {
	path, err := g.inv.ResolvePath(name)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, cli.UsageErrorf("%s is not a regular file", name)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = cli.UsageErrorf("%s has more than %d MiB and is not read", name, maxImport>>20)
	}
	return text, err
}

// convertServers returns the servers of a file in cairn's form, and notes about what is left out or must be looked at.
// Comments and trailing commas are allowed.
func convertServers(text []byte) (out map[string]storedServer, notes []string, err error) {
	// Read the file as JSON, with the three places where programs have their servers.
	plain, err := hujson.Standardize(append(slices.Clone(text), '\n')) // which ends a comment
	if err != nil {
		return nil, nil, describeJSONError(err)
	}
	file, err := readObject("", plain)
	if err != nil {
		return nil, nil, err
	}
	inMCP, err := readObject("mcp", file["mcp"])
	if err != nil {
		return nil, nil, err
	}
	// Convert each server by itself, so that one that cannot be used does not affect the others.
	out = map[string]storedServer{}
	for _, place := range []struct {
		name  string
		value jsontext.Value
	}{{"mcpServers", file["mcpServers"]}, {"servers", file["servers"]}, {"mcp.servers", inMCP["servers"]}} {
		list, err := readObject(place.name, place.value)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(list)) {
			s, problems, err := convertServer(name, list[name])
			if err != nil {
				notes = append(notes, fmt.Sprintf("the server %.80q is left out: %v", name, err))
				continue
			}
			for _, p := range problems {
				notes = append(notes, fmt.Sprintf("the server %.80q %s", name, p))
			}
			out[name] = s
		}
	}
	return out, notes, nil
}

// readObject returns the members of the value at a place of a file; "" is the whole file. A missing one has no members.
func readObject(place string, value jsontext.Value) (members map[string]jsontext.Value, err error) {
	switch kind := value.Kind(); {
	case len(value) == 0 || kind == 'n' && place != "":
		return nil, nil
	case kind != '{' && place == "":
		return nil, errors.New("it is not a JSON object with servers")
	case kind != '{':
		return nil, fmt.Errorf("%s is not an object", place)
	}
	if err := json.Unmarshal(value, &members); err != nil {
		return nil, describeJSONError(err)
	}
	return members, nil
}

// describeJSONError returns the error of a text that is not JSON, without the names of Go packages.
func describeJSONError(err error) error {
	text := err.Error()
	for _, name := range []string{"hujson: ", "json: ", "jsontext: "} {
		text = strings.ReplaceAll(text, name, "")
	}
	return fmt.Errorf("it is not JSON: %s", text)
}

// convertServer returns a server of a file in cairn's form, with what of it is lost. An error says why it cannot be
// used.
func convertServer(name string, text jsontext.Value) (s storedServer, problems []string, err error) {
	if err := checkName(name); err != nil {
		return s, nil, err
	}
	var members map[string]jsontext.Value
	if text.Kind() != '{' || json.Unmarshal(text, &members) != nil {
		return s, nil, fmt.Errorf("it is not an object")
	}
	f := foreignServer{members: members}
	if s, err = f.convert(); err != nil {
		return s, nil, err
	}
	// The configuration decides whether it takes the result. A file of the user must not go to a server because another
	// program's file has a text that only cairn reads so.
	value, err := json.Marshal(s, json.Deterministic(true))
	if found := fileReference.Find(value); found != nil {
		return s, nil, fmt.Errorf("it has %s, which cairn would replace by the text of that file", found)
	}
	if err == nil {
		_, err = config.Edit("the configuration", nil, serverKey(name), value)
	}
	return s, f.problems, err
}

// foreignServer is a server in the file of another program, while it is converted.
type foreignServer struct {
	members  map[string]jsontext.Value // not taken over yet
	problems []string
}

// convert takes over what cairn has too, and notes the rest as problems.
func (f *foreignServer) convert() (s storedServer, err error) {
	// The kind follows from the address or the command. These members say no more.
	kind := f.takeText("type")
	for _, name := range []string{"name", "description"} {
		delete(f.members, name)
	}
	url, command := f.takeText("url"), f.takeWords("command")
	switch {
	case url != "":
		s = storedServer{Type: "remote", URL: url, Headers: f.takeTexts("headers")}
		if !isAddress(url) {
			return s, fmt.Errorf("its url is not an address of http or https")
		}
	case len(command) > 0 && command[0] != "":
		s = storedServer{
			Type: "local", Command: append(command, f.takeWords("args")...), Cwd: f.takeText("cwd"),
			Environment: f.takeTexts("env"),
		}
		if err := checkCommand(s.Command); err != nil {
			return s, err
		}
	case kind == "ws":
		return s, fmt.Errorf("cairn does not speak over web sockets")
	default:
		return s, fmt.Errorf("it has neither a command nor a url")
	}
	// Members with other forms.
	isDisabled, isNotEnabled := f.takeFlag("disabled", true), f.takeFlag("enabled", false)
	if isDisabled || isNotEnabled {
		no := false
		s.Enabled = &no
	}
	s.Timeout, s.OAuth = f.takeTimeout(), f.takeLogin(s.Type)
	// What is left is lost.
	if left := slices.Sorted(maps.Keys(f.members)); len(left) > 0 {
		f.note("has members that are not taken over: %s", strings.Join(left, ", "))
	}
	return s, nil
}

func (f *foreignServer) note(format string, values ...any) {
	f.problems = append(f.problems, fmt.Sprintf(format, values...))
}

// takeTimeout returns the timeout in milliseconds. Small numbers mean seconds to some programs and are not taken over.
func (f *foreignServer) takeTimeout() (ms int64) {
	const least = 1000
	v := f.members["timeout"]
	if json.Unmarshal(v, &ms) != nil || ms < least {
		return 0
	}
	delete(f.members, "timeout")
	return ms
}

// takeLogin returns the settings of the login that cairn has too.
func (f *foreignServer) takeLogin(kind string) jsontext.Value {
	// Only remote servers have a login, as an object or false.
	v := f.members["oauth"]
	if kind != "remote" || v == nil {
		return nil
	}
	if v.Kind() == 'f' {
		delete(f.members, "oauth")
		return v
	}
	var members map[string]jsontext.Value
	if v.Kind() != '{' || json.Unmarshal(v, &members) != nil {
		return nil
	}
	// Take over the members that cairn has, and name the others.
	delete(f.members, "oauth")
	login := foreignServer{members: members}
	out := map[string]any{}
	for _, name := range []string{"clientId", "clientSecret", "scope", "redirectUri"} {
		if text := login.takeText(name); text != "" {
			out[name] = text
		}
	}
	var port int
	if json.Unmarshal(members["callbackPort"], &port) == nil && port > 0 {
		out["callbackPort"] = port
		delete(members, "callbackPort")
	}
	f.problems = append(f.problems, login.problems...)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		f.note("has oauth.%s, which is not taken over", name)
	}
	if len(out) == 0 {
		return nil
	}
	text, _ := json.Marshal(out, json.Deterministic(true)) // of texts and a number
	return text
}

// takeFlag reports whether a member has the value.
func (f *foreignServer) takeFlag(name string, value bool) bool {
	var got bool
	v, ok := f.members[name]
	if !ok || json.Unmarshal(v, &got) != nil {
		return false
	}
	delete(f.members, name)
	return got == value
}

// takeText returns a member that is a text, a number or a boolean, with the variables in cairn's form.
func (f *foreignServer) takeText(name string) string {
	text, ok := readScalar(f.members[name])
	if !ok {
		return ""
	}
	delete(f.members, name)
	return f.replaceVariables(name, text)
}

// takeWords returns a member that is a scalar or a list of them.
func (f *foreignServer) takeWords(name string) (out []string) {
	v := f.members[name]
	if v.Kind() != '[' {
		if text := f.takeText(name); text != "" {
			out = []string{text}
		}
		return out
	}
	var list []jsontext.Value
	if json.Unmarshal(v, &list) != nil {
		return nil
	}
	delete(f.members, name)
	for i, v := range list {
		if text, ok := readScalar(v); ok {
			out = append(out, f.replaceVariables(name, text))
		} else {
			f.note("lacks %s[%d], which is not a text", name, i)
		}
	}
	return out
}

// takeTexts returns a member that is an object of scalars.
func (f *foreignServer) takeTexts(name string) map[string]string {
	var list map[string]jsontext.Value
	if json.Unmarshal(f.members[name], &list) != nil {
		return nil
	}
	delete(f.members, name)
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(list)) {
		if text, ok := readScalar(list[key]); ok {
			out[key] = f.replaceVariables(name+"."+key, text)
		} else {
			f.note("lacks %s.%s, which is not a text", name, key)
		}
	}
	return out
}

// readScalar returns a text, a number or a boolean as text.
func readScalar(v jsontext.Value) (string, bool) {
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		return string(text), err == nil
	case '0', 't', 'f':
		return string(v), true
	default:
		return "", false
	}
}

// replaceVariables returns a text with the variables of the environment in cairn's form, and notes what is lost.
func (f *foreignServer) replaceVariables(name, text string) string {
	text = foreignVariable.ReplaceAllStringFunc(text, func(found string) string {
		m := foreignVariable.FindStringSubmatch(found)
		if m[3] != "" {
			f.note("has %s in %s, whose default is not taken over; set the variable", found, name)
		}
		return "{env:" + cmp.Or(m[1], m[2]) + "}"
	})
	if left := foreignPlaceholder.FindString(text); left != "" {
		f.note("has %s in %s, which cairn does not fill in; change it in the configuration", left, name)
	}
	return text
}

var (
	// foreignVariable is a variable of the environment, as Claude Code, VS Code and Cursor write it, with its default.
	foreignVariable = regexp.MustCompile(`\$\{env:(\w+)\}|\$\{([A-Z_]\w*)(:-[^}]*)?\}`)
	// foreignPlaceholder is what is left: ${input:…}, ${workspaceFolder} and the like.
	foreignPlaceholder = regexp.MustCompile(`\$\{[^}]*\}`)
	// fileReference is a plain text to other programs, and a reference to cairn.
	fileReference = regexp.MustCompile(`\{file:[^}]*\}`)
)
