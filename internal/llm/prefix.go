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

// Prefix is the fingerprint of the part of a request that a vendor can cache, part by part. Two requests can be
// compared by their prefixes when one of them no longer exists.
type Prefix struct {
	Model    Digest   // including the options
	System   []Digest // of each text
	Tools    []NamedDigest
	Messages []Digest
}

// Digest is a digest of bytes. Equal bytes have equal digests, also across processes.
type Digest [8]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// NamedDigest is the digest of a tool.
type NamedDigest struct {
	Name string
	Digest
}

// PrefixOf returns the fingerprint of req. Breakpoints, clocks and headers are not part of it.
func PrefixOf(req *Request) Prefix {
	p := Prefix{
		Model: computeDigest(func(f *fieldHash) {
			f.writeText(req.Model)
			f.writeValues(req.Options)
			f.writeValues(req.Body)
		}),
	}
	for _, text := range req.System {
		p.System = append(p.System, computeDigest(func(f *fieldHash) { f.writeText(text) }))
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, NamedDigest{t.Name, computeDigest(func(f *fieldHash) {
			f.writeText(t.Description)
			f.writeBytes(t.Schema)
			f.writeBytes(t.Hosted)
		})})
	}
	messages := req.Messages
	for len(messages) > 0 && messages[len(messages)-1].Role == RoleSystem { // the next request may not have them
		messages = messages[:len(messages)-1]
	}
	for _, m := range messages {
		p.Messages = append(
			p.Messages, computeDigest(func(f *fieldHash) { f.writeText(string(m.Role)); f.writeParts(m.Parts) }),
		)
	}
	return p
}

// SystemSum returns the digest of all system texts.
func (p Prefix) SystemSum() Digest { return sumDigests(p.System) }

// ToolsSum returns the digest of all tools with their names.
func (p Prefix) ToolsSum() Digest {
	return computeDigest(func(f *fieldHash) {
		for _, t := range p.Tools {
			f.writeText(t.Name)
			f.writeBytes(t.Digest[:])
		}
	})
}

// MessagesSum returns the digest of the first n messages.
func (p Prefix) MessagesSum(n int) Digest { return sumDigests(p.Messages[:min(n, len(p.Messages))]) }

// DescribeChange names the first part of before that p does not begin with: the model, system text N, a tool, or
// message N, counted from 1. It returns "" if p begins with all of before, so that a cache of before is still of use.
func (p Prefix) DescribeChange(before Prefix) string {
	switch {
	case p.Model != before.Model:
		return "the model or its options changed"
	case !slices.Equal(p.Tools, before.Tools):
		return describeToolChange(before.Tools, p.Tools)
	case !slices.Equal(p.System, before.System):
		return describeListChange("system text", before.System, p.System)
	case len(p.Messages) < len(before.Messages), !slices.Equal(p.Messages[:len(before.Messages)], before.Messages):
		return describeListChange("message", before.Messages, p.Messages)
	default:
		return ""
	}
}

func describeToolChange(before, now []NamedDigest) string {
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

func describeListChange(what string, before, now []Digest) string {
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

func sumDigests(list []Digest) Digest {
	return computeDigest(func(f *fieldHash) {
		for _, d := range list {
			f.writeBytes(d[:])
		}
	})
}

// fieldHash is a hash of fields, each preceded by its length, so that different lists of fields never produce the same
// bytes.
type fieldHash struct{ hash.Hash }

func computeDigest(feed func(*fieldHash)) (d Digest) {
	f := &fieldHash{sha256.New()}
	feed(f)
	copy(d[:], f.Sum(nil))
	return d
}

func (f *fieldHash) writeNumber(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n)) //nolint:gosec // a length
	_, _ = f.Write(b[:])                        // a hash never fails
}

func (f *fieldHash) writeBytes(b []byte) {
	f.writeNumber(len(b))
	_, _ = f.Write(b)
}

func (f *fieldHash) writeText(s string) {
	f.writeBytes([]byte(s))
}

func (f *fieldHash) writeFlag(v bool) {
	if v {
		f.writeNumber(1)
		return
	}
	f.writeNumber(0)
}

func (f *fieldHash) writeValues(m map[string]jsontext.Value) {
	f.writeNumber(len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		f.writeText(name)
		f.writeBytes(m[name])
	}
}

// writeParts adds parts to the hash. Each value has a length or a number before it, so that no two lists of parts write
// the same bytes. A new field of a Part belongs here: equal hashes must mean equal prefixes.
func (f *fieldHash) writeParts(parts []Part) {
	f.writeNumber(len(parts))
	for _, p := range parts {
		// The type comes first, so that parts of different kinds with equal fields differ.
		f.writeText(fmt.Sprintf("%T", p))
		switch p := p.(type) {
		case Text:
			f.writeText(p.Text)
			f.writeValues(p.Metadata)
		case Media:
			f.writeText(p.MediaType)
			f.writeBytes(p.Data)
			f.writeText(p.URL)
			f.writeText(p.Name)
		case Reasoning:
			f.writeText(p.Text)
			f.writeValues(p.Metadata)
		case ToolCall:
			f.writeText(p.ID)
			f.writeText(p.Name)
			f.writeBytes(p.Input)
			f.writeFlag(p.Hosted)
			f.writeValues(p.Metadata)
		case ToolResult:
			f.writeText(p.ID)
			f.writeText(p.Name)
			f.writeParts(p.Content)
			f.writeFlag(p.IsError)
			f.writeFlag(p.Hosted)
			f.writeBytes(p.Raw)
			f.writeValues(p.Metadata)
		}
	}
}
