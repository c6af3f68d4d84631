package v1

import (
	"context"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/location/formatter"
	"github.com/cairn-dev/cairn/internal/location/lsp"
	"github.com/cairn-dev/cairn/internal/server/operation"
)

// listLanguageOperations are the operations on language servers and formatters.
func (d *dependencies) listLanguageOperations() []operation.Operation {
	h := languageHandlers{d}
	return []operation.Operation{
		operation.New("read GET /lsp List the language servers", "lsp.status", h.listLanguages),
		operation.New("read GET /find/symbol Search symbols of language servers", "find.symbols", h.findSymbols),
		operation.New("read GET /formatter List the formatters", "formatter.status", h.listFormatters),
	}
}

type languageHandlers struct{ *dependencies }

// codeSymbol is a symbol that a language server has found.
type codeSymbol struct {
	Name     string `json:"name"`
	Kind     int    `json:"kind"`
	Location struct {
		URI   string    `json:"uri"`
		Range lsp.Range `json:"range"`
	} `json:"location"`
}

func (h languageHandlers) listLanguages(ctx context.Context, in locationIn) ([]lsp.Status, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	return append([]lsp.Status{}, l.Languages.Status()...), nil
}

func (h languageHandlers) findSymbols(ctx context.Context, in struct {
	locationIn
	Query string `query:"query" required:"true"`
},
) ([]codeSymbol, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	out := []codeSymbol{}
	for _, value := range l.Languages.FindSymbols(ctx, in.Query) {
		var s codeSymbol
		if json.Unmarshal(value, &s) == nil { // a server may answer in another form
			out = append(out, s)
		}
	}
	return out, nil
}

func (h languageHandlers) listFormatters(ctx context.Context, in locationIn) ([]formatter.Status, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, err
	}
	return l.Formatters.List(), nil
}

// AnnounceLanguages tells the streams of a directory that its language servers have changed.
func (d *dependencies) AnnounceLanguages(directory string) {
	d.notices.Send(notice{directory: directory, kind: kindLanguages, properties: emptyObject{}})
}
