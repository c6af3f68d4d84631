package acp

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
)

// The way to log in at a provider.
const (
	loginID       = "cairn-login"
	loginTerminal = "-terminal" // behind it: in a terminal that the client opens
	loginName     = "Log in at a provider"
	loginText     = "Run cairn auth login in a terminal, or set the variable of a provider's API key."
)

// authenticate succeeds if a model of a provider can be used.
func (a *agent) authenticate(ctx context.Context, params jsontext.Value) (any, error) {
	var r struct {
		MethodID string `json:"methodId"`
	}
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	if r.MethodID != loginID && r.MethodID != loginID+loginTerminal {
		return nil, rpcErrorf(codeInvalidParams, "there is no way to log in %q", r.MethodID)
	}
	models, err := a.options.Client.Models(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(models.Data, func(m api.Model) bool { return !m.IsGuide() }) {
		return nil, rpcErrorf(codeAuthRequired, "no provider has credentials yet: run cairn auth login in a terminal")
	}
	return struct{}{}, nil
}

// logOut changes nothing: the credentials are those of all programs that use cairn, and of several providers.
func (a *agent) logOut(context.Context, jsontext.Value) (any, error) {
	return nil, rpcErrorf(codeInvalidRequest,
		"cairn keeps the credentials of several providers; to delete one, run cairn auth logout in a terminal")
}
