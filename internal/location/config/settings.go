package config

import (
	"net/netip"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// Settings are the merged keys. Names are those of OpenCode's V1 configuration; V2's spellings are converted
// (spelling.go).
//
// The tag scope says which files may set a key and the keys below it: "project" any file, "trusted" also files of
// trusted projects, "user" only the user's own. Without a tag a key inherits from its parent; at the top the default is
// "trusted". Structs with an Extra member accept keys that they do not declare; all other unknown keys are reported.
// The tag doc is the description in the JSON Schema.
type Settings struct {
	Schema            string              `json:"$schema" scope:"project" doc:"address of this file's JSON Schema"`
	Model             ModelName           `json:"model" scope:"project" doc:"default model, as provider/model"`
	SmallModel        ModelName           `json:"small_model" scope:"project" doc:"model for titles and other small tasks"`
	Summaries         bool                `json:"summaries" doc:"let the small model summarise sessions after work of some size: one more request each time"`
	DefaultAgent      string              `json:"default_agent" scope:"project" doc:"agent of new sessions"`
	Agent             map[string]Agent    `json:"agent" scope:"project" doc:"agents by name: changes to the built-in ones, and new ones"`
	Command           map[string]Command  `json:"command" scope:"project" doc:"commands by name: templates of prompts"`
	Provider          map[string]Provider `json:"provider" doc:"providers by id: changes to known ones, and new ones"`
	EnabledProviders  []string            `json:"enabled_providers" doc:"only these providers are used"`
	DisabledProviders []string            `json:"disabled_providers" doc:"these providers are not used"`
	Instructions      []string            `json:"instructions" scope:"project" doc:"additional instructions: file paths, glob patterns and URLs; the lists of all layers are combined"`
	Shell             string              `json:"shell" doc:"shell that runs commands: a program name, or a path relative to this file"`
	Sandbox           Sandbox             `json:"sandbox" scope:"user" doc:"confine commands of tools with kernel features: off, writes or strict, or an object"`
	Username          string              `json:"username" scope:"user" doc:"name of the user"`
	Timezone          TimeZone            `json:"timezone" scope:"user" doc:"time zone of the agents' date, such as Europe/Berlin; default: of this machine"`
	LogLevel          string              `json:"logLevel" scope:"user" doc:"log level of cairn serve on standard error: DEBUG, INFO, WARN or ERROR"`
	ToolOutput        ToolOutput          `json:"tool_output" scope:"project" doc:"limits of the tool output that a model receives"`
	Compaction        Compaction          `json:"compaction" scope:"project" doc:"when the history of a session is replaced by a summary"`
	Attachment        Attachment          `json:"attachment" scope:"project" doc:"processing of attached files"`
	Experimental      Experimental        `json:"experimental" doc:"keys that may change or be removed"`
	Snapshot          bool                `json:"snapshot" scope:"project" doc:"keep what calls change in files, so that it can be shown and undone"`
	Skills            Skills              `json:"skills" doc:"additional sources of skills"`
	References        References          `json:"references" doc:"directories with further material, by name: objects with path and description"`
	Webfetch          Webfetch            `json:"webfetch" scope:"user" doc:"networks beside the public web that may be fetched"`
	Timeouts          Timeouts            `json:"timeouts" scope:"user" doc:"time limits of a turn; a provider's own limits take precedence"`
	Budget            Budget              `json:"budget" scope:"user" doc:"budget of new sessions"`
	Limits            Limits              `json:"limits" scope:"user" doc:"limits of one process"`
	Server            Server              `json:"server" scope:"user" doc:"address of cairn serve"`
	Terminal          FullScreen          `json:"terminal" scope:"user" doc:"the full-screen interface"`
	MCP               map[string]MCP      `json:"mcp" doc:"MCP servers by name"`
	Formatter         Formatters          `json:"formatter" doc:"formatters that run after edits: true for the built-in ones, or an object by name, which adds to them"`
	LSP               LanguageServers     `json:"lsp" doc:"language servers: true for the built-in ones, or an object by name, which adds to them"`
	Hooks             Hooks               `json:"hooks" doc:"commands that run when something happens, in the shape of Claude Code's settings; all layers add to them"`
	Notify            map[string]Notify   `json:"notify" doc:"commands and webhooks by name that are told of asks and of the end of work"`
	Telemetry         Telemetry           `json:"telemetry" scope:"user" doc:"traces and metrics of OpenTelemetry, and metrics for Prometheus"`
	Plugin            []jsontext.Value    `json:"plugin" doc:"plugins: names of npm packages, paths of scripts, or lists of one of these and options; the lists of all layers are combined"`
	Extensions        Extensions          `json:"extensions" scope:"user" doc:"rights and limits of plugins"`
	Worktree          Worktree            `json:"worktree" doc:"working trees that cairn makes for sessions"`
	Share             ShareMode           `json:"share" scope:"user" doc:"share sessions: manual (when a person asks), auto (every new one) or disabled; default: manual. A project's files can only disable it"`
	Sharing           Sharing             `json:"sharing" scope:"user" doc:"where sessions are shared, and for how long"`
	Enterprise        Enterprise          `json:"enterprise" scope:"user" doc:"OpenCode's name for sharing.target"`
	Storage           Storage             `json:"storage" scope:"user" doc:"what is stored beside the sessions"`
	Foreign
}

// Extensions are the rights and the limits of plugins.
type Extensions struct {
	Timeout Seconds  `json:"timeout" doc:"seconds for all plugins together at one point of the work; default: 5"`
	Allow   []string `json:"allow" doc:"plugins, by id, that may allow what a person would be asked"`
	Scope   string   `json:"scope" doc:"what requests of plugins to the API may do: read, prompt, approve or admin; default: prompt"`
}

// Worktree configures the linked worktrees of git that are made for sessions.
type Worktree struct {
	Directory string `json:"directory" scope:"user" doc:"where they are made; default: cairn-worktrees beside cairn's data"`
	Start     string `json:"start" doc:"shell command that prepares a new one, such as npm ci"`
}

// Agent changes a built-in agent or defines one. Nil and empty fields change nothing.
type Agent struct {
	Model       ModelName                 `json:"model"`
	Variant     string                    `json:"variant" doc:"the variant of the model"`
	Prompt      string                    `json:"prompt" doc:"the system prompt"`
	Description string                    `json:"description" doc:"when to use the agent"`
	Mode        Mode                      `json:"mode" doc:"primary, subagent or all"`
	Hidden      *bool                     `json:"hidden" doc:"do not list the agent"`
	Color       Color                     `json:"color" doc:"#rrggbb, or the name of a colour"`
	Steps       Count                     `json:"steps" doc:"maximum turns per prompt"`
	Sandbox     SandboxMode               `json:"sandbox" scope:"user" doc:"off, writes or strict, instead of the sandbox of the configuration"`
	Disable     *bool                     `json:"disable" doc:"remove the agent"`
	Temperature *float64                  `json:"temperature"`
	TopP        *float64                  `json:"top_p"`
	Options     map[string]jsontext.Value `json:"options" scope:"trusted" doc:"options of the provider's requests"`
	Request     *Request                  `json:"request" scope:"trusted" doc:"additional headers and body fields of each request"`
	Extra       jsontext.Value            `json:",embed" scope:"trusted"` // further request options, as OpenCode has it
}

// Request is added to each request of an agent.
type Request struct {
	Headers map[string]string         `json:"headers"`
	Body    map[string]jsontext.Value `json:"body"`
	Extra   jsontext.Value            `json:",embed"`
}

// Provider changes a known provider or defines one.
type Provider struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	NPM       string           `json:"npm"` // OpenCode's name of the protocol's package
	API       string           `json:"api"` // the base URL, unless options.baseURL is set
	Env       []string         `json:"env"` // variables that may hold the key
	Disabled  bool             `json:"disabled"`
	Whitelist []string         `json:"whitelist"`
	Blacklist []string         `json:"blacklist"`
	Options   ProviderOptions  `json:"options"`
	Models    map[string]Model `json:"models"`
	Hosted    []jsontext.Value `json:"hosted_tools" doc:"tools that the provider runs for all of its models: web_search, web_fetch, code_execution, x_search, image_generation, or a name of the provider's"`
	Extra     jsontext.Value   `json:",embed" known:"request settings integrationID"`
}

// BaseURL returns the provider's base URL; "" means the default of the provider table.
func (p Provider) BaseURL() string {
	if p.Options.BaseURL != "" {
		return p.Options.BaseURL
	}
	return p.API
}

// ProviderOptions are the connection settings of a provider.
type ProviderOptions struct {
	BaseURL        string            `json:"baseURL"`
	APIKey         auth.Secret       `json:"apiKey"`
	Headers        map[string]string `json:"headers"`
	Timeout        Duration          `json:"timeout"`        // of a whole turn
	ConnectTimeout Duration          `json:"connectTimeout"` // until a connection stands
	HeaderTimeout  Duration          `json:"headerTimeout"`  // from then until the answer begins
	ChunkTimeout   Duration          `json:"chunkTimeout"`   // between two pieces of the answer
	Extra          jsontext.Value    `json:",embed" known:"accessKeyId accountId apiVersion appName appUrl authToken clientId endpoint enterpriseUrl fetch gateway includeUsage location organization profile project queryParams region resourceName secretAccessKey sessionToken setCacheKey supportsStructuredOutputs useCompletionUrls useDeploymentBasedUrls"`
}

// Model describes a model in the shape of models.dev; members without a field are in Extra, for the catalog.
type Model struct {
	ID      string                    `json:"id"` // what the vendor calls it
	Name    string                    `json:"name"`
	Options map[string]jsontext.Value `json:"options"`
	Headers map[string]string         `json:"headers"`
	Hosted  []jsontext.Value          `json:"hosted_tools" doc:"hosted tools of this model, instead of its provider's"`
	Extra   jsontext.Value            `json:",embed" known:"family release_date attachment reasoning reasoning_options temperature tool_call interleaved cost limit modalities status provider variants variant experimental knowledge last_updated open_weights structured_output"`
}

// Sandbox confines the commands of tools to the location with kernel features.
type Sandbox struct {
	Mode    SandboxMode `json:"mode" doc:"off, writes or strict; without it, commands that run without an ask are confined as with writes"`
	Network bool        `json:"network"` // commands may open connections, in the mode strict, too
	Write   []Path      `json:"write"`   // further directories that they may write to
	Outside []string    `json:"outside" doc:"patterns for commands, such as \"docker *\", that run outside of the sandbox: plain lines all of whose commands match"`
	Sockets *bool       `json:"sockets" doc:"local sockets in the mode writes, such as those of docker, tmux and D-Bus: programs there act outside of the sandbox; true unless it is false"`
}

// ToolOutput limits the tool output that a model receives.
type ToolOutput struct {
	MaxLines Count `json:"max_lines"`
	MaxBytes Count `json:"max_bytes"`
}

// Skills are additional sources of skills.
type Skills struct {
	Paths []string `json:"paths"`
	URLs  []string `json:"urls"`
}

// References are directories with further material by name: paths, or objects with path and description.
type References map[string]jsontext.Value

// Webfetch lists networks beside the public web that may be fetched.
type Webfetch struct {
	Allow []Network `json:"allow" doc:"addresses and networks, such as 10.0.0.0/8"`
}

// AllowedNetworks returns the networks that may be fetched.
func (w Webfetch) AllowedNetworks() []netip.Prefix {
	var out []netip.Prefix
	for _, n := range w.Allow {
		out = append(out, netip.Prefix(n))
	}
	return out
}

// Compaction configures when the history is replaced by a summary. Buffer and Keep are in tokens; 0 is a default that
// depends on the model.
type Compaction struct {
	Auto      bool     `json:"auto"`
	Continue  bool     `json:"continue"` // the work goes on after a compaction that began by itself
	Prune     *bool    `json:"prune"`    // nil: when it costs no cache; true: also when work ends
	Buffer    Natural  `json:"buffer"`   // reserved for the response
	Keep      Keep     `json:"keep"`
	TailTurns *Natural `json:"tail_turns"` // nil is unlimited
}

// Keep bounds the newest history that stays verbatim.
type Keep struct {
	Tokens Natural `json:"tokens"`
}

// Timeouts are the time limits of every provider turn; a provider's own options take precedence. Zero means llm's
// default.
type Timeouts struct {
	Connect   Duration `json:"connect"`
	FirstByte Duration `json:"first_byte"`
	Silence   Duration `json:"silence"`
	Turn      Duration `json:"turn"`
}

// ProviderClocks returns the time limits of a turn with the provider.
func (s *Settings) ProviderClocks(provider string) llm.Clocks {
	own := s.Provider[provider].Options
	return llm.Clocks{
		Connect:   own.ConnectTimeout.orElse(s.Timeouts.Connect).toClock(),
		FirstByte: own.HeaderTimeout.orElse(s.Timeouts.FirstByte).toClock(),
		Silence:   own.ChunkTimeout.orElse(s.Timeouts.Silence).toClock(),
		Turn:      own.Timeout.orElse(s.Timeouts.Turn).toClock(),
	}
}

// Budget limits what a new session may spend. Zero is unlimited.
type Budget struct {
	USD    session.USD `json:"usd"`
	Tokens Natural     `json:"tokens"`
	Wall   Duration    `json:"wall"`
	Turns  Natural     `json:"turns"`
}

// Session returns the budget of a new session, nil when nothing is limited.
func (b Budget) Session() *session.Budget {
	if b == (Budget{}) {
		return nil
	}
	if b.Wall == Unlimited {
		b.Wall = 0
	}
	return &session.Budget{USD: b.USD, Tokens: int64(b.Tokens), Wall: b.Wall.Milliseconds(), Turns: int(b.Turns)}
}

// Limits bounds the process. Zero means the default.
type Limits struct {
	Inbox     Count `json:"inbox"`     // pending prompts of one session
	Sessions  Count `json:"sessions"`  // sessions at work at the same time
	Requests  Count `json:"requests"`  // requests to one provider at the same time
	Tools     Count `json:"tools"`     // tool calls at the same time
	Turns     Count `json:"turns"`     // provider turns for one prompt before cairn asks
	Attempts  Count `json:"attempts"`  // attempts per provider turn
	Processes Count `json:"processes"` // processes of one command
	Answer    Count `json:"answer"`    // bytes of one response: text, reasoning and arguments together
	Output    Size  `json:"output"`    // bytes of one output file of a tool or job; all together have twice as many
	Body      Size  `json:"body"`      // bytes of one request body
	Streams   Count `json:"streams"`   // event streams of one client of the server
}

// Attachment configures attached files.
type Attachment struct {
	Image ImageLimits `json:"image"`
}

// ImageLimits bound an attached image.
type ImageLimits struct {
	AutoResize     *bool `json:"auto_resize"`
	MaxWidth       Count `json:"max_width"`
	MaxHeight      Count `json:"max_height"`
	MaxBase64Bytes Count `json:"max_base64_bytes"`
}

// Experimental are keys that may change or go.
type Experimental struct {
	Policies            []Policy `json:"policies" doc:"which providers may be used; the last matching policy decides"`
	ContinueLoopOnDeny  bool     `json:"continue_loop_on_deny" unused:"true"`
	PrimaryTools        []string `json:"primary_tools" unused:"true"`
	MCPTimeout          Duration `json:"mcp_timeout" doc:"timeout of MCP servers that set none"`
	OpenTelemetry       bool     `json:"openTelemetry" unused:"true"`
	BatchTool           bool     `json:"batch_tool" unused:"true"`
	DisablePasteSummary bool     `json:"disable_paste_summary" unused:"true"`
}

// Policy allows or denies the use of the providers whose ids match the resource.
type Policy struct {
	Action   string `json:"action" doc:"provider.use"`
	Effect   string `json:"effect" doc:"allow or deny"`
	Resource string `json:"resource" doc:"provider ids; * matches anything"`
}

// FullScreen configures the full-screen interface.
type FullScreen struct {
	Theme string            `json:"theme" doc:"terminal (its own 16 colours), dark, light or contrast"`
	Keys  map[string]string `json:"keys" doc:"keys of commands by name, such as {\"undo\": \"ctrl+u\"}; none for no key"`
	Mouse *bool             `json:"mouse" doc:"wheel scrolls, click opens, drag copies; true unless it is false"`
	Vi    bool              `json:"vi" doc:"the composer has the keys of vi"`
	Quiet bool              `json:"quiet" doc:"no bell, notification or title"`
}

// Server is the listening address of cairn serve.
type Server struct {
	Hostname   string   `json:"hostname"`
	Port       Natural  `json:"port"`
	Cors       []string `json:"cors" doc:"origins of web pages that may call the server"`
	MDNS       bool     `json:"mdns" doc:"announce the server on the local network"`
	MDNSDomain string   `json:"mdnsDomain" doc:"announced name; default opencode.local"`
}

// AllowsProvider reports whether the policies allow a provider. The last matching policy decides; without one the
// provider is allowed. match reports whether an id matches a pattern.
func (e Experimental) AllowsProvider(provider string, match func(pattern, id string) bool) bool {
	use := true
	for _, p := range e.Policies {
		if p.Action == "provider.use" && match(p.Resource, provider) {
			use = p.Effect != "deny"
		}
	}
	return use
}

// Command is a named prompt template. A template that is only text is read from untrusted files, as instructions are;
// one that runs a program, or replaces one of the user's own commands, needs trust (docs/adr/0009).
type Command struct {
	Template    string    `json:"template" doc:"the prompt; $ARGUMENTS, $1 and so on are replaced by the text typed after the name"`
	Description string    `json:"description"`
	Agent       string    `json:"agent" scope:"trusted" doc:"agent that runs the command"`
	Model       ModelName `json:"model"`
	Variant     string    `json:"variant"`
	Subtask     *bool     `json:"subtask" doc:"run in a child session"`
}
