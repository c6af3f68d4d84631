package llm

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Prefix is the fingerprint of what a vendor's cache may keep of a request: everything up to its end, part by part, so
// that two requests can be compared of which only one is still there.
type Prefix struct {
	Model    Digest   // with the options that go with it
	System   []Digest // of each text
	Tools    []NamedDigest
	Messages []Digest
}

// Digest stands for bytes: equal bytes have equal digests, also in another process.
type Digest [8]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// NamedDigest is the digest of a tool.
type NamedDigest struct {
	Name string
	Digest
}

// PrefixOf returns the request's fingerprint. Marks, clocks and headers are no part of it.
func PrefixOf(req *Request) Prefix {
	p := Prefix{Model: digested(func(f *fields) { f.text(req.Model); f.values(req.Options); f.values(req.Body) })}
	for _, text := range req.System {
		p.System = append(p.System, digested(func(f *fields) { f.text(text) }))
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, NamedDigest{t.Name, digested(func(f *fields) {
			f.text(t.Description)
			f.bytes(t.Schema)
			f.bytes(t.Hosted)
		})})
	}
	for _, m := range req.Messages {
		p.Messages = append(p.Messages, digested(func(f *fields) { f.text(string(m.Role)); f.parts(m.Parts) }))
	}
	return p
}

// SystemSum is the digest of all system texts.
func (p Prefix) SystemSum() Digest { return sum(p.System) }

// ToolsSum is the digest of all tools with their names.
func (p Prefix) ToolsSum() Digest {
	return digested(func(f *fields) {
		for _, t := range p.Tools {
			f.text(t.Name)
			f.bytes(t.Digest[:])
		}
	})
}

// MessagesSum is the digest of the first n messages.
func (p Prefix) MessagesSum(n int) Digest { return sum(p.Messages[:min(n, len(p.Messages))]) }

// Change names the first part of before with which p does not begin: model, system text N, tool X added, removed or
// changed, message N. "" means that what was kept of before is of use to p. Parts are counted from 1.
func (p Prefix) Change(before Prefix) string {
	switch {
	case p.Model != before.Model:
		return "the model or its options changed"
	case !slices.Equal(p.Tools, before.Tools):
		return toolChange(before.Tools, p.Tools)
	case !slices.Equal(p.System, before.System):
		return listChange("system text", before.System, p.System)
	case len(p.Messages) < len(before.Messages), !slices.Equal(p.Messages[:len(before.Messages)], before.Messages):
		return listChange("message", before.Messages, p.Messages)
	default:
		return ""
	}
}

func toolChange(before, now []NamedDigest) string {
	find := func(list []NamedDigest, name string) int {
		return slices.IndexFunc(list, func(t NamedDigest) bool { return t.Name == name })
	}
	for _, t := range now {
		switch i := find(before, t.Name); {
		case i < 0:
			return fmt.Sprintf("the tool %s was added", t.Name)
		case before[i].Digest != t.Digest:
			return fmt.Sprintf("the tool %s changed", t.Name)
		}
	}
	for _, t := range before {
		if find(now, t.Name) < 0 {
			return fmt.Sprintf("the tool %s was removed", t.Name)
		}
	}
	return "the order of the tools changed"
}

func listChange(what string, before, now []Digest) string {
	for i, d := range before {
		switch {
		case i >= len(now):
			return fmt.Sprintf("%s %d of %d was removed", what, i+1, len(before))
		case now[i] != d:
			return fmt.Sprintf("%s %d of %d changed", what, i+1, len(before))
		}
	}
	return fmt.Sprintf("%s %d was added", what, len(before)+1)
}

func sum(list []Digest) Digest {
	return digested(func(f *fields) {
		for _, d := range list {
			f.bytes(d[:])
		}
	})
}

// fields feeds a hash with fields of any length, each behind its length, so that no two lists of fields are the same
// bytes.
type fields struct{ hash.Hash }

func digested(feed func(*fields)) (d Digest) {
	f := &fields{sha256.New()}
	feed(f)
	copy(d[:], f.Sum(nil))
	return d
}

func (f *fields) number(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // a length
	_, _ = f.Write(b[:])                        // a hash never fails
}

func (f *fields) bytes(b []byte) {
	f.number(len(b))
	_, _ = f.Write(b)
}

func (f *fields) text(s string) {
	f.bytes([]byte(s))
}

func (f *fields) flag(v bool) {
	if v {
		f.number(1)
		return
	}
	f.number(0)
}

func (f *fields) values(m map[string]jsontext.Value) {
	f.number(len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		f.text(name)
		f.bytes(m[name])
	}
}

func (f *fields) parts(parts []Part) {
	f.number(len(parts))
	for _, p := range parts {
		f.text(fmt.Sprintf("%T", p))
		switch p := p.(type) {
		case Text:
			f.text(p.Text)
			f.values(p.Metadata)
		case Media:
			f.text(p.MediaType)
			f.bytes(p.Data)
			f.text(p.URL)
			f.text(p.Name)
		case Reasoning:
			f.text(p.Text)
			f.values(p.Metadata)
		case ToolCall:
			f.text(p.ID)
			f.text(p.Name)
			f.bytes(p.Input)
			f.flag(p.Hosted)
			f.values(p.Metadata)
		case ToolResult:
			f.text(p.ID)
			f.text(p.Name)
			f.parts(p.Content)
			f.flag(p.IsError)
			f.flag(p.Hosted)
			f.bytes(p.Raw)
			f.values(p.Metadata)
		}
	}
}
