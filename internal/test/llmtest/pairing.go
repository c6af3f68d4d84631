package llmtest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// WordLetters are the characters in ids that strict vendors accept.
const WordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// Pairing checks that every call of a conversation has one result and that no id is used twice. The zero value is an
// empty conversation.
type Pairing struct{ open, used map[string]bool }

// CheckToolName returns an error if vendors refuse the tool name of a call; they also check old calls.
func CheckToolName(name string) error {
	if name == "" || len(name) > 64 || strings.Trim(name, WordLetters) != "" ||
		strings.ContainsRune("0123456789-", rune(name[0])) {
		return fmt.Errorf("bad name %q", name)
	}
	return nil
}

// AddCall records a call.
func (p *Pairing) AddCall(id, name string, input jsontext.Value) error {
	if err := CheckToolName(name); err != nil {
		return err
	}
	if p.used[id] || id == "" || len(id) > 64 || strings.Trim(id, WordLetters) != "" || input.Kind() != '{' {
		return fmt.Errorf("bad call %q", id)
	}
	if p.open == nil {
		p.open, p.used = map[string]bool{}, map[string]bool{}
	}
	p.open[id], p.used[id] = true, true
	return nil
}

// AddResult records a result.
func (p *Pairing) AddResult(id string) error {
	if !p.open[id] {
		return fmt.Errorf("a result of %q, which is no open call", id)
	}
	delete(p.open, id)
	return nil
}

// CheckAnswered returns an error if a call has no result.
func (p *Pairing) CheckAnswered() error {
	if len(p.open) > 0 {
		return fmt.Errorf("no results of %v", p.open)
	}
	return nil
}

// CheckEnd checks the end of the conversation of a request with that many tools.
func (p *Pairing) CheckEnd(tools int) error {
	if len(p.used) > 0 && tools == 0 {
		return errors.New("a history with calls, and no tools")
	}
	return p.CheckAnswered()
}
