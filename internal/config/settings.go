package config

import (
	"net/netip"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// Settings are the keys in use, every layer merged. Names are those of OpenCode's V1 configuration (spec/v1 §35.4);
// the V2 spellings are read too (shape.go).
//
// The tag scope says whose files may set a key, and what is below it: "project" anybody's, "trusted" also those of a
// project that is trusted, "user" only the user's own. Without a tag a key is as what it stands in, and at the top
// "trusted". Structs with an Extra member are open: keys they do not name are kept there, all others are reported. The
// tag doc is for the JSON Schema.
type Settings struct {
	Schema            string              `json:"$schema" scope:"project" doc:"where the JSON Schema of this file is"`
	Model             ModelName           `json:"model" scope:"project" doc:"the model that answers, as provider/model"`
	SmallModel        ModelName           `json:"small_model" scope:"project" doc:"the model for titles and other small work"`
	DefaultAgent      string              `json:"default_agent" scope:"project" doc:"the agent of a new session"`
	Agent             map[string]Agent    `json:"agent" scope:"project" doc:"agents by name: changes to the built-in ones, and new ones"`
	Command           map[string]Command  `json:"command" scope:"project" doc:"commands by name: templates of prompts"`
	Provider          map[string]Provider `json:"provider" doc:"providers by id: changes to known ones, and new ones"`
	EnabledProviders  []string            `json:"enabled_providers" doc:"only these providers are used"`
	DisabledProviders []string            `json:"disabled_providers" doc:"these providers are not used"`
	Instructions      []string            `json:"instructions" scope:"project" doc:"what agents are told: paths, patterns and web addresses of texts; of all layers together"`
	Shell             string              `json:"shell" doc:"the shell that runs commands: a name, or a path that starts at this file's directory"`
	Sandbox           Sandbox             `json:"sandbox" scope:"user" doc:"commands that tools run are bound by the kernel"`
	Username          string              `json:"username" scope:"user" doc:"how the user is called"`
	LogLevel          string              `json:"logLevel" scope:"user" doc:"what cairn serve writes to standard error: DEBUG, INFO, WARN or ERROR"`
	ToolOutput        ToolOutput          `json:"tool_output" scope:"project" doc:"how much of a tool's output a model sees"`
	Compaction        Compaction          `json:"compaction" scope:"project" doc:"when the past of a session is replaced by a summary"`
	Attachment        Attachment          `json:"attachment" scope:"project" doc:"what is done to attached files"`
	Experimental      Experimental        `json:"experimental" doc:"what may change or go"`
	Snapshot          bool                `json:"snapshot" scope:"project" doc:"whether the working tree is kept at each step"`
	Skills            Skills              `json:"skills" doc:"where skills are found, besides the usual directories"`
	Webfetch          Webfetch            `json:"webfetch" scope:"user" doc:"what may be fetched beside the public web"`
	Timeouts          Timeouts            `json:"timeouts" scope:"user" doc:"the clocks of a turn; a provider's own win"`
	Budget            Budget              `json:"budget" scope:"user" doc:"what a new session may use"`
	Limits            Limits              `json:"limits" scope:"user" doc:"what one process does at the same time"`
	Server            Server              `json:"server" scope:"user" doc:"where cairn serve listens"`
	Foreign
}

// Agent changes a built-in agent or defines one. Nil and empty fields change nothing.
type Agent struct {
	Model       ModelName                 `json:"model"`
	Variant     string                    `json:"variant" doc:"the variant of the model"`
	Prompt      string                    `json:"prompt" doc:"the system prompt"`
	Description string                    `json:"description" doc:"when to use the agent"`
	Mode        Mode                      `json:"mode" doc:"primary, subagent or all"`
	Hidden      *bool                     `json:"hidden" doc:"not shown where agents are chosen"`
	Color       Color                     `json:"color" doc:"#rrggbb, or the name of a colour"`
	Steps       Count                     `json:"steps" doc:"turns for one prompt"`
	Disable     *bool                     `json:"disable" doc:"there is no such agent"`
	Temperature *float64                  `json:"temperature"`
	TopP        *float64                  `json:"top_p"`
	Options     map[string]jsontext.Value `json:"options" scope:"trusted" doc:"options of the provider's requests"`
	Request     *Request                  `json:"request" scope:"trusted" doc:"headers and fields of each request"`
	Extra       jsontext.Value            `json:",embed" scope:"trusted"` // further request options, as OpenCode has it
}

// Request is what is added to each request of an agent.
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
	API       string           `json:"api"` // the base URL, unless options.baseURL says another
	Env       []string         `json:"env"` // variables that may hold the key
	Disabled  bool             `json:"disabled"`
	Whitelist []string         `json:"whitelist"`
	Blacklist []string         `json:"blacklist"`
	Options   ProviderOptions  `json:"options"`
	Models    map[string]Model `json:"models"`
	Hosted    []jsontext.Value `json:"hosted_tools" doc:"tools that the provider runs itself, for all of its models: web_search, web_fetch, code_execution, x_search, image_generation, or what the provider calls them"`
	Extra     jsontext.Value   `json:",embed" known:"request settings integrationID"`
}

// BaseURL is where the provider is reached; "" leaves what the provider table says.
func (p Provider) BaseURL() string {
	if p.Options.BaseURL != "" {
		return p.Options.BaseURL
	}
	return p.API
}

// ProviderOptions say how to reach a provider.
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

// Model describes a model, in the shape of models.dev: fields that it does not name are in Extra for the catalog.
type Model struct {
	ID      string                    `json:"id"` // what the vendor calls it
	Name    string                    `json:"name"`
	Options map[string]jsontext.Value `json:"options"`
	Headers map[string]string         `json:"headers"`
	Hosted  []jsontext.Value          `json:"hosted_tools" doc:"those of this model alone, instead of its provider's"`
	Extra   jsontext.Value            `json:",embed" known:"family release_date attachment reasoning reasoning_options temperature tool_call interleaved cost limit modalities status provider variants variant experimental knowledge last_updated open_weights structured_output"`
}

// Sandbox binds the commands that tools run to the location, by the kernel's means.
type Sandbox struct {
	Enabled bool   `json:"enabled"`
	Network bool   `json:"network"` // commands may open connections
	Write   []Path `json:"write"`   // further directories that they may write to
}

// ToolOutput bounds what a model sees of a tool's output.
type ToolOutput struct {
	MaxLines Count `json:"max_lines"`
	MaxBytes Count `json:"max_bytes"`
}

// Skills are further places where skills are found. URLs are not used yet.
type Skills struct {
	Paths []string `json:"paths"`
	URLs  []string `json:"urls"`
}

// Webfetch says what may be fetched beside the public web.
type Webfetch struct {
	Allow []Network `json:"allow" doc:"addresses and networks, such as 10.0.0.0/8"`
}

// Networks returns what may be fetched.
func (w Webfetch) Networks() []netip.Prefix {
	var out []netip.Prefix
	for _, n := range w.Allow {
		out = append(out, netip.Prefix(n))
	}
	return out
}

// Compaction says when the past is replaced by a summary. Buffer and Keep are in tokens.
type Compaction struct {
	Auto      bool    `json:"auto"`
	Prune     bool    `json:"prune"`
	Buffer    Natural `json:"buffer"` // kept free for the answer
	Keep      Keep    `json:"keep"`
	TailTurns Natural `json:"tail_turns"`
}

// Keep is how much of the newest history stays verbatim.
type Keep struct {
	Tokens Natural `json:"tokens"`
}

// Timeouts are the clocks of every provider turn; a provider's own options win. Zero is llm's default.
type Timeouts struct {
	Connect   Duration `json:"connect"`
	FirstByte Duration `json:"first_byte"`
	Silence   Duration `json:"silence"`
	Turn      Duration `json:"turn"`
}

// Clocks returns the clocks for a provider.
func (s *Settings) Clocks(provider string) llm.Clocks {
	own := s.Provider[provider].Options
	return llm.Clocks{
		Connect:   own.ConnectTimeout.or(s.Timeouts.Connect).clock(),
		FirstByte: own.HeaderTimeout.or(s.Timeouts.FirstByte).clock(),
		Silence:   own.ChunkTimeout.or(s.Timeouts.Silence).clock(),
	}
}

// Turn returns how long one provider turn may take in all.
func (s *Settings) Turn(provider string) Duration {
	return s.Provider[provider].Options.Timeout.or(s.Timeouts.Turn)
}

// Budget is what a new session may spend. Zero is unlimited.
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

// Limits bounds the process. Zero is the default of what it bounds.
type Limits struct {
	Inbox     Count `json:"inbox"`     // pending prompts of one session
	Sessions  Count `json:"sessions"`  // sessions at work at the same time
	Tools     Count `json:"tools"`     // tool calls at the same time
	Turns     Count `json:"turns"`     // provider turns for one prompt before cairn asks
	Attempts  Count `json:"attempts"`  // attempts for one provider turn
	Processes Count `json:"processes"` // processes of one command
	Answer    Count `json:"answer"`    // bytes of one answer of a model: text, reasoning and arguments together
	Output    Size  `json:"output"`    // bytes of one file that keeps what a tool or a job printed; all together have twice as many
	Body      Size  `json:"body"`      // bytes of the body of one request to the server
}

// Attachment says what is done to attached files.
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
	Policies            []Policy `json:"policies" doc:"which providers may be used; the last statement that matches decides"`
	ContinueLoopOnDeny  bool     `json:"continue_loop_on_deny" unused:"true"`
	PrimaryTools        []string `json:"primary_tools" unused:"true"`
	MCPTimeout          Duration `json:"mcp_timeout" unused:"true"`
	OpenTelemetry       bool     `json:"openTelemetry" unused:"true"`
	BatchTool           bool     `json:"batch_tool" unused:"true"`
	DisablePasteSummary bool     `json:"disable_paste_summary" unused:"true"`
}

// Policy allows or denies the use of the providers whose ids match the resource.
type Policy struct {
	Action   string `json:"action" doc:"provider.use"`
	Effect   string `json:"effect" doc:"allow or deny"`
	Resource string `json:"resource" doc:"ids of providers; * stands for anything"`
}

// Server says where cairn serve listens.
type Server struct {
	Hostname   string   `json:"hostname"`
	Port       Natural  `json:"port"`
	Cors       []string `json:"cors" doc:"origins of pages that may call"`
	MDNS       bool     `json:"mdns" doc:"let the local network find the server"`
	MDNSDomain string   `json:"mdnsDomain" doc:"under which name, opencode.local by default"`
}
