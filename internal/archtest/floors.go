package archtest

import "strings"

// kind says what a package is for; some laws speak of kinds.
type kind string

const (
	wordsKind      kind = "words"
	rulesKind      kind = "rules"
	recordKind     kind = "record"
	loopKind       kind = "loop"
	driverKind     kind = "driver"
	capabilityKind kind = "capability"
	viewKind       kind = "view"
	surfaceKind    kind = "surface"
	wiringKind     kind = "wiring"
	proofKind      kind = "proof" // exists to test or check the others
)

type floorEntry struct {
	floor int
	kind  kind
}

// floors is the table of all packages. A new package gets its line here in the change that creates it.
var floors = []struct {
	floor    int
	kind     kind
	packages string
}{
	{0, wordsKind, "session llm fault spelling"},
	{
		1,
		rulesKind,
		"caller checkout permission shell tool systemcontext store sandbox statefile keyring frontmatter proctable " +
			"linediff fileattr llm/sse llm/redact llm/option llm/wire",
	},
	{2, rulesKind, "tool/workpath tool/protected audit webcache"},
	{2, recordKind, "projection eventlog"},
	{3, rulesKind, "tool/linepath"},
	{
		3,
		loopKind,
		"engine engine/cause engine/location engine/journal engine/history engine/record engine/ask engine/job " +
			"engine/command engine/retry engine/slot engine/title engine/background engine/sessioncache " +
			"engine/window engine/compaction " +
			"engine/summary engine/shrink engine/failure engine/changes engine/revert engine/fork engine/subagent",
	},
	{
		4,
		capabilityKind,
		"accesstoken auth trust wellknown config/document config catalog agent command skill instruction project mcp lsp " +
			"pty reach",
	},
	{4, capabilityKind, "llm/awslogin"},
	{4, driverKind, "store/sqlstore store/sqlite store/postgres"},
	{4, driverKind, "llm/anthropic llm/openairesponses llm/openaichat llm/gemini llm/bedrock"},
	{4, driverKind, "llm/provider llm/script llm/guide llm/replay"},
	{4, driverKind, "snapshot"},
	{4, driverKind, "tool/file tool/search tool/exec tool/dialog tool/web tool/task tool/plan"},
	{4, proofKind, "check store/storetest llm/llmtest sandbox/sandboxtest"},
	{5, proofKind, "tool/tooltest"},
	{5, viewKind, "opencode jsontree server/openapi server/broadcast server/branchwatch"},
	{
		6,
		surfaceKind,
		"api transfer server server/v1 server/v2 server/sse server/httpio server/operation server/peer " +
			"server/attachment server/nextrequest cli cli/term cli/view cli/run cli/access cli/admin cli/inspect " +
			"cli/undo cli/root tui tui/composer tui/dialog tui/status tui/style tui/transcript tui/markdown " +
			"tui/diffview tui/screen tui/sidebar tui/clipboard tui/mention tui/feed tui/offers tui/keymap",
	},
	{6, proofKind, "server/contracttest"},
	{5, wiringKind, "models"},
	{7, wiringKind, "host main"},
	{7, proofKind, "crashtest archtest ./bench"},
}

// edge is an allowed exception from one package to another.
type edge struct{ from, to, reason string }

// sameFloor lists the imports between packages of one floor.
var sameFloor = []edge{
	{"permission", "shell", "rules for commands are about what the shell would run"},
	{"llm/wire", "llm/sse", "the frames of an answer are server-sent events"},
	{"llm/wire", "llm/redact", "what a provider says of a failure is shown without secrets"},
	{"llm/wire", "llm/option", "which fields of a body are the protocols' own is known once"},
	{"llm/option", "llm/redact", "the spellings of a name are one in the same way"},
	{"tool", "permission", "a call is authorised as part of settling it"},
	{"eventlog", "projection", "an event and its rows are one transaction"},
	{"config", "auth", "a key in a configuration file is the same Secret"},
	{"config", "config/document", "a configuration is merged from documents"},
	{"config/document", "auth", "the token of an organisation is the same Secret"},
	{"config/document", "trust", "the document of an organisation needs trust"},
	{"wellknown", "auth", "a token goes into a request as the Secret that it is"},
	{"config", "trust", "what a project's files may say depends on whether they are trusted"},
	{"command", "config", "the commands of a location are the built-in ones as its configuration changes them"},
	{"agent", "config", "the agents of a location are the built-in ones as its configuration changes them"},
	{"cli", "api", "the CLI is a client of the API"},
	{"cli", "cli/term", "every command prints through the terminal kit"},
	{"cli/run", "cli", "run and attach are commands"},
	{"cli/run", "cli/term", "the work is shown on a terminal, and its asks are answered there"},
	{"cli/run", "api", "run and attach are clients of the API"},
	{"cli/run", "tui", "on a terminal attach opens the full-screen interface"},
	{"cli/run", "tui/composer", "the typed text is kept below the state directory"},
	{"tui", "api", "the interface is a client of the API"},
	{"tui", "cli", "sessions are found, followed and named as for commands"},
	{"tui", "cli/term", "text of others is shown without control characters"},
	{"tui", "tui/composer", "prompts are typed in the composer"},
	{"tui", "tui/dialog", "asks and choices are dialogs"},
	{"tui", "tui/status", "the last line says what the session does"},
	{"tui", "tui/clipboard", "images in the clipboard are attached to prompts"},
	{"tui", "tui/mention", "files and agents that a prompt names are attached"},
	{"tui", "tui/feed", "what happens in sessions arrives as messages"},
	{"tui/feed", "api", "the feed reads the streams of the server"},
	{"tui/feed", "cli", "lost connections are restored as on the command line"},
	{"tui/mention", "tui/dialog", "candidates are lines as those of dialogs"},
	{"tui/mention", "tui/style", "all components have one theme"},
	{"tui", "tui/keymap", "keys are bound as the user configures them"},
	{"tui", "tui/offers", "pickers and completion offer what the directory does"},
	{"tui/offers", "api", "the server knows what a directory offers"},
	{"tui", "tui/screen", "frames are drawn on the screen"},
	{"tui", "tui/sidebar", "changed files and todos are beside the session"},
	{"tui/sidebar", "cli/term", "todos and counts have the form of the command line"},
	{"tui/sidebar", "tui/style", "all components have one theme"},
	{"tui", "tui/style", "all components have one theme"},
	{"tui", "tui/transcript", "the session is shown by the transcript"},
	{"tui/composer", "cli/term", "typed text has no control characters"},
	{"tui/dialog", "cli/term", "asks have the words of the command line"},
	{"tui/dialog", "tui/composer", "lines are edited as prompts are"},
	{"tui/dialog", "tui/diffview", "a change that is asked for is shown as in the transcript"},
	{"tui/dialog", "tui/style", "all components have one theme"},
	{"tui/status", "cli/term", "counts and costs have the form of the command line"},
	{"tui/status", "tui/style", "all components have one theme"},
	{"tui/transcript", "api", "the transcript shows the updates of a session"},
	{"tui/transcript", "cli/term", "calls have the words of the command line"},
	{"tui/transcript", "tui/style", "all components have one theme"},
	{"tui/transcript", "tui/markdown", "answers are Markdown"},
	{"tui/transcript", "tui/diffview", "calls that change files show how"},
	{"tui/markdown", "tui/style", "all components have one theme"},
	{"tui/diffview", "tui/style", "all components have one theme"},
	{"cli/view", "cli", "a run that is shown ends with an exit code"},
	{"cli/view", "tui/markdown", "answers on a terminal have the form of the interface"},
	{"cli/view", "tui/diffview", "changes on a terminal have the form of the interface"},
	{"cli/view", "tui/style", "answers on a terminal have the form of the interface"},
	{"cli/view", "cli/term", "text for people goes through the terminal kit"},
	{"cli/run", "cli/view", "run and attach show sessions through one view"},
	{"cli/inspect", "cli", "the lists of what can be used are commands"},
	{"cli/inspect", "cli/term", "the lists are printed through the terminal kit"},
	{"cli/inspect", "api", "the lists come from the API"},
	{"cli/root", "cli/inspect", "the tree holds the lists of what can be used"},
	{"cli/root", "cli/view", "a run whose flags are invalid ends with the result line"},
	{"cli/undo", "cli", "taking a session back and forth consists of commands"},
	{"cli/undo", "cli/term", "diffs and lists of files are printed through the terminal kit"},
	{"cli/undo", "api", "undo, redo, revert and diff are clients of the API"},
	{"cli/root", "cli/undo", "the tree holds undo, redo, revert and diff"},
	{"cli/admin", "cli", "the administration consists of commands"},
	{"cli/admin", "cli/term", "lists and transcripts are printed through the terminal kit"},
	{"cli/admin", "api", "the administration is a client of the API"},
	{"cli/admin", "transfer", "export and import are commands"},
	{"cli/root", "cli", "the tree of commands runs as one invocation"},
	{"cli/root", "cli/run", "the tree holds run and attach"},
	{"cli/root", "cli/access", "the tree holds keys and trust"},
	{"cli/root", "cli/admin", "the tree holds the administration"},
	{"cli/access", "cli", "auth and trust are commands"},
	{"cli/access", "cli/term", "keys and trust are listed and asked for through the terminal kit"},
	{"cli/root", "cli/term", "help and errors are printed through the terminal kit"},
	{"transfer", "api", "sessions are given away and taken in by a client of the API"},
	{"server/nextrequest", "api", "a request is shown in the types of the wire"},
	{"server/v2", "api", "server and client share one set of wire types"},
	{"server/httpio", "api", "errors that have a meaning of their own on the wire have one name"},
	{"server/v1", "api", "errors that have a meaning of their own on the wire have one name"},
	{"server/v1", "server/httpio", "requests are read alike in both contracts"},
	{"server/v2", "server/httpio", "requests are read alike in both contracts"},
	{"server/operation", "server/httpio", "operations read requests and write responses"},
	{"server/v1", "server/operation", "both contracts declare their operations in the same form"},
	{"server/v2", "server/operation", "both contracts declare their operations in the same form"},
	{"server", "server/operation", "what a caller needs is found before its operation"},
	{"server", "server/peer", "the listener identifies who connects"},
	{"server", "server/httpio", "the stages refuse with the same errors"},
	{"server", "server/v1", "the listener mounts both contracts"},
	{"server", "server/v2", "the listener mounts both contracts"},
	{"server/v1", "server/attachment", "prompts of both contracts name files alike"},
	{"server/v2", "server/attachment", "prompts of both contracts name files alike"},
	{"server/v1", "server/sse", "one writer of event streams"},
	{"server/v2", "server/sse", "one writer of event streams"},
	{"engine", "engine/journal", "the engine's packages read sessions and commit facts alike"},
	{"engine", "engine/cause", "the engine's packages cancel work for the same causes"},
	{"engine", "engine/ask", "a call of a turn asks for its permissions"},
	{"engine", "engine/job", "tools of a turn start background jobs"},
	{"engine", "engine/subagent", "calls of a turn hand work to subagents"},
	{"engine/subagent", "engine/command", "a task is a session and a prompt in it"},
	{"engine/subagent", "engine/journal", "how a task ended is read from its session"},
	{"engine/subagent", "engine/location", "the agents of a location do its tasks"},
	{"engine/subagent", "engine/ask", "the ask policy of a prompt decides what a declined ask ends"},
	{"engine/subagent", "engine/cause", "whether a task is stopped depends on why its call was"},
	{"engine/job", "engine/cause", "how a job's end is recorded depends on why it was stopped"},
	{"engine/job", "engine/journal", "the beginning and the end of a job are facts of a session"},
	{"engine", "engine/changes", "the calls of a turn record what they do to files"},
	{"engine", "engine/revert", "a staged revert is committed before work follows"},
	{"engine/changes", "engine/journal", "changes of files are facts of a session"},
	{"engine/changes", "engine/location", "the contents of files are kept by their worktree"},
	{"engine/command", "engine/changes", "what a session changed is shown on request"},
	{"engine/command", "engine/revert", "reverts are staged, cleared and committed on request"},
	{"engine/command", "engine/fork", "sessions are copied on request"},
	{"engine/fork", "engine/revert", "what a staged revert hides is not copied"},
	{"engine/revert", "engine/changes", "a revert takes back what was recorded"},
	{"engine/revert", "engine/journal", "a revert is a fact of a session"},
	{"engine/revert", "engine/location", "files are restored by their worktree"},
	{"engine", "engine/command", "commands start work through the engine's scheduler"},
	{"engine/command", "engine/ask", "the ask policy of a prompt is parsed when it is admitted"},
	{"engine/command", "engine/history", "the output format of a prompt is checked when it is admitted"},
	{"engine/command", "engine/cause", "the output of a shell command says why it was stopped"},
	{"engine/command", "engine/journal", "commands commit facts of a session"},
	{"engine/command", "engine/location", "what a request selects must exist in its location"},
	{"engine/ask", "engine/cause", "an ask of work that stops is withdrawn, or left to the next process"},
	{"engine/ask", "engine/journal", "asks and replies are facts of a session"},
	{"engine/ask", "engine/location", "the rules for an ask are those of its location"},
	{"engine", "engine/location", "a turn reads the scope of its location"},
	{"engine", "engine/retry", "a failed turn is retried within limits"},
	{"engine", "engine/slot", "sessions and calls run within limits"},
	{"engine", "engine/title", "a session is named beside its first turn"},
	{"engine", "engine/compaction", "what a session did is written down alike for all its summaries"},
	{"engine", "engine/background", "a session is summarised after its work"},
	{"engine/title", "engine/background", "a title is generated beside the work"},
	{"engine/background", "engine/cause", "work beside that of sessions stops for the same causes"},
	{"engine", "engine/sessioncache", "a turn reads new messages only"},
	{"engine/sessioncache", "engine/ask", "the grants of a budget last for a process"},
	{"engine/sessioncache", "engine/history", "the histories of sessions are kept between turns"},
	{"engine", "engine/shrink", "a session that outgrows its window is made to fit"},
	{"engine", "engine/summary", "writing summaries has the limits of the engine"},
	{"engine", "engine/failure", "turns that fail record why"},
	{"engine/failure", "engine/cause", "work that was stopped is a failure of its own"},
	{"engine/failure", "engine/record", "an answer that is too long is a failure of its own"},
	{"engine/shrink", "engine/failure", "compactions that fail record why"},
	{"engine/shrink", "engine/cause", "writing a summary stops for the causes of other work"},
	{"engine/shrink", "engine/compaction", "what is hidden is decided there"},
	{"engine/shrink", "engine/history", "the request is built as it will be sent"},
	{"engine/shrink", "engine/journal", "a compaction is a fact of its session"},
	{"engine/shrink", "engine/location", "the location has the models and the settings"},
	{"engine/shrink", "engine/retry", "a failed attempt at a summary is stored as one at a turn"},
	{"engine/shrink", "engine/summary", "a model writes the summary"},
	{"engine/shrink", "engine/window", "requests are compared with the window"},
	{"engine/compaction", "engine/window", "what is kept is measured as a request is"},
	{"engine/compaction", "engine/history", "the facts of the past read alike in the question and in the conversation"},
	{"engine/history", "engine/window", "reported usage is compared with the next request"},
	{"engine/location", "engine/window", "a model has limits, which its requests keep"},
	{"engine/summary", "engine/compaction", "what the writer of a summary is asked is planned there"},
	{"engine/summary", "engine/history", "texts of requests are joined alike"},
	{"engine/summary", "engine/location", "the location resolves the model that writes"},
	{"engine/summary", "engine/record", "tokens are counted alike"},
	{"engine/summary", "engine/retry", "writing a summary is retried as a turn is"},
	{"engine/summary", "engine/window", "pieces of a conversation fit the writer's window"},
	{"engine/title", "engine/retry", "generating a title is retried as a turn is"},
	{"engine/title", "engine/cause", "generating a title stops for the causes of other work"},
	{"engine/title", "engine/command", "which titles are automatic is known once"},
	{"engine/title", "engine/history", "a prompt is lowered alike in both requests"},
	{"engine/title", "engine/journal", "a title is a fact of its session"},
	{"engine/title", "engine/location", "the location resolves the model for titles"},
	{"engine/title", "engine/record", "tokens are counted alike"},
	{"engine", "engine/history", "a turn builds its request of the history"},
	{"engine", "engine/record", "a turn records what its model streams"},
	{"engine/record", "engine/journal", "the engine's packages read sessions and commit facts alike"},
	{"engine/history", "engine/location", "a request is for the model that the location resolved"},
	{"main", "host", "main hands the CLI the way to open a host, which the CLI must not import"},
	{"crashtest", "host", "the kill harness runs the whole process"},
}

// driverEdges lists who besides host imports a driver.
var driverEdges = []edge{
	{"store/sqlite", "store/sqlstore", "the SQL is written once, under every dialect"},
	{"store/postgres", "store/sqlstore", "the SQL is written once, under every dialect"},
	{"llm/provider", "llm/anthropic", "the vendor table names each vendor's protocol"},
	{"llm/provider", "llm/openairesponses", "the vendor table names each vendor's protocol"},
	{"llm/provider", "llm/openaichat", "the vendor table names each vendor's protocol"},
	{"llm/provider", "llm/gemini", "the vendor table names each vendor's protocol"},
	{"llm/provider", "llm/bedrock", "the vendor table names each vendor's protocol"},
	{"tool/tooltest", "tool/file", "tests settle the calls of all tools in one Location"},
	{"tool/tooltest", "tool/search", "tests settle the calls of all tools in one Location"},
	{"tool/tooltest", "tool/exec", "tests settle the calls of all tools in one Location"},
	{"models", "llm/provider", "models connects a provider's row with the credentials and settings of the user"},
	{"models", "llm/script", "models offers the script that tests and demos play"},
	{"models", "llm/guide", "models offers the guide if no provider is set up"},
	{"./bench", "store/sqlite", "a long history is written in a second, and the store is measured beside bare SQLite"},
}

func hasEdge(list []edge, from, to string) bool {
	for _, e := range list {
		if e.from == from && e.to == to {
			return true
		}
	}
	return false
}

// floorOf finds a package in the floor table.
func floorOf(name string) (floorEntry, bool) {
	for _, row := range floors {
		for _, p := range strings.Fields(row.packages) {
			if p == name {
				return floorEntry{row.floor, row.kind}, true
			}
		}
	}
	return floorEntry{}, false
}

// checkFloors is law 1: a package imports lower floors, never its own or a higher one.
//
// Tests look a little further: sideways, at drivers and proofs (a test wires real pieces instead of mocks), and the
// tests of surfaces at host. They never look up otherwise.
func checkFloors(t *Tree) []Finding {
	var out []Finding
	for _, p := range t.sortedPackages() {
		if p.isTestOnly() {
			continue
		}
		from, ok := floorOf(p.Name)
		if !ok {
			out = append(out, newFinding(p.Name, "has no floor; add it to the table in internal/archtest/floors.go "+
				"on the lowest floor that is above everything it imports"))
			continue
		}
		imports := t.importEdges(p, false)
		for _, to := range sortedKeys(imports) {
			out = append(out, checkImport(p.Name, from, to, imports[to])...)
		}
		imports = t.importEdges(p, true)
		for _, to := range sortedKeys(imports) {
			out = append(out, checkTestImport(from, to, imports[to])...)
		}
	}
	return out
}

func checkImport(name string, from floorEntry, to, file string) []Finding {
	target, ok := floorOf(to)
	switch {
	case !ok:
		return nil // reported where that package stands
	case target.floor < from.floor:
		return nil
	case target.floor > from.floor:
		return []Finding{
			newFinding(file, "%s (floor %d) imports %s (floor %d): imports point down; declare the one or "+
				"two methods you need as an interface where you stand", name, from.floor, to, target.floor),
		}
	case hasEdge(sameFloor, name, to) || hasEdge(driverEdges, name, to):
		return nil
	default:
		return []Finding{
			newFinding(file, "%s imports %s on its own floor %d; if it must, list the edge with its reason "+
				"in sameFloor (internal/archtest/floors.go)", name, to, from.floor),
		}
	}
}

func checkTestImport(from floorEntry, to, file string) []Finding {
	target, ok := floorOf(to)
	switch {
	case !ok, target.floor <= from.floor, target.kind == driverKind, target.kind == proofKind:
		return nil
	case to == "host" && from.kind == surfaceKind:
		return nil
	default:
		return []Finding{newFinding(file, "a test on floor %d imports %s (floor %d); move the test up to what it tests",
			from.floor, to, target.floor)}
	}
}
