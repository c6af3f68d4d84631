package catalog

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/option"
)

// Provider is a vendor or a server. Its JSON is ProviderV2Info of the V2 contract.
type Provider struct {
	ID            string  `json:"id"`
	IntegrationID string  `json:"integrationID,omitzero"`
	Name          string  `json:"name"`
	Disabled      bool    `json:"disabled,omitzero"`
	API           API     `json:"api"`
	Request       Request `json:"request"`

	Env       []string `json:"-"` // the environment variables that may hold its key
	Available bool     `json:"-"` // it can be used now

	Withheld *Withheld `json:"-"` // what a fetched list says of how to reach it; nil if its address is known
}

// API says with which client and at which address a provider or model is reached. The packages are those of the AI
// SDK, by which models.dev names protocols.
type API struct {
	ID       string                    `json:"id,omitzero"` // of a model: what the vendor calls it
	Type     string                    `json:"type"`        // aisdk or native
	Package  string                    `json:"package,omitzero"`
	URL      string                    `json:"url,omitzero"`
	Settings map[string]jsontext.Value `json:"settings,omitzero"`
}

// Request holds the additions to every request: headers, and options in any of the spellings that Partition sorts.
type Request struct {
	Headers map[string]string         `json:"headers"`
	Body    map[string]jsontext.Value `json:"body"`
	Variant string                    `json:"variant,omitzero"`
}

// Model is one model of one provider. Its JSON is ModelV2Info of the V2 contract.
type Model struct {
	ID           string       `json:"id"`
	ProviderID   string       `json:"providerID"`
	Family       string       `json:"family,omitzero"`
	Title        string       `json:"name"`
	API          API          `json:"api"`
	Capabilities Capabilities `json:"capabilities"`
	Request      Request      `json:"request"`
	Variants     []Variant    `json:"variants"`
	Time         Time         `json:"time"`
	Rates        []Rate       `json:"cost"`
	Status       Status       `json:"status"`
	Enabled      bool         `json:"enabled"`
	Limit        Limit        `json:"limit"`

	NoPrice             bool      `json:"-"` // its source lists no price
	Reasoning           bool      `json:"-"` // it reasons before it answers
	ReasoningField      string    `json:"-"` // the field in which its reasoning is sent back; "" if unknown
	Structured          *bool     `json:"-"` // it supports structured output; nil if unknown
	CanDisableReasoning bool      `json:"-"` // its source lists a switch for reasoning
	Temperature         bool      `json:"-"` // it accepts a temperature
	Available           bool      `json:"-"` // it can be used now
	Efforts             []string  `json:"-"` // the reasoning efforts that its source lists
	Dropped             []string  `json:"-"` // options of it and its variants that are not sent, and why
	Withheld            *Withheld `json:"-"` // what a fetched list says of its own address; nil if that is known
}

// Name returns the name by which users choose the model: provider/id.
func (m Model) Name() string { return m.ProviderID + "/" + m.ID }

// Options returns the options of a request to the model, with further layers over its own.
func (m Model) Options(layers ...map[string]jsontext.Value) Options {
	return Partition(m.optionVendor(), append([]map[string]jsontext.Value{m.Request.Body}, layers...)...)
}

// optionVendor returns the vendor that receives the model's options.
func (m Model) optionVendor() option.Vendor {
	at := option.VendorOf(m.ProviderID, m.API.Package)
	at.Efforts = m.Efforts
	return at
}

// AcceptsInput reports whether the model takes input of the kind: text, image, audio, video or pdf.
func (m Model) AcceptsInput(kind string) bool {
	for _, k := range m.Capabilities.Input {
		if k == kind {
			return true
		}
	}
	return false
}

// Capabilities describe the inputs, outputs and features of a model.
type Capabilities struct {
	Tools  bool     `json:"tools"`
	Input  []string `json:"input"`
	Output []string `json:"output"`
}

// Variant is a named set of options, such as a reasoning effort.
type Variant struct {
	ID      string                    `json:"id"`
	Headers map[string]string         `json:"headers"`
	Body    map[string]jsontext.Value `json:"body"`
}

// Time holds a model's dates in milliseconds since 1970.
type Time struct {
	Released int64 `json:"released"` // 0 if unknown
}

// Limit holds the sizes of a model in tokens; 0 is unknown.
type Limit struct {
	Context int64 `json:"context"`
	Input   int64 `json:"input,omitzero"`
	Output  int64 `json:"output"`
}

// Status is the release status of a model.
type Status string

// The statuses.
const (
	Alpha      Status = "alpha"
	Beta       Status = "beta"
	Deprecated Status = "deprecated"
	Active     Status = "active"
)
