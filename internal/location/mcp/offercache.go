package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// OfferCache keeps, in files of a directory, how the last attempt to connect each server ended. The first request of a
// process then has the tools, instructions and notes of the last request before, so that a continued session keeps its
// cached prefix; a call waits for the server. Safe for concurrent use, also by processes.
type OfferCache struct{ dir string }

// NewOfferCache returns the cache in a directory, which is created when needed.
func NewOfferCache(dir string) *OfferCache { return &OfferCache{dir} }

// Bounds of the cache. A larger offer is not kept.
const (
	maxOfferFile  = 4 << 20
	maxOfferFiles = 500
)

// cachedOffer is the end of an attempt to connect a server: what it offered, or why it failed.
type cachedOffer struct {
	Config       string      `json:"config"` // hashConfig
	Tools        []*sdk.Tool `json:"tools,omitzero"`
	HasResources bool        `json:"hasResources,omitzero"`
	Instructions string      `json:"instructions,omitzero"`
	Status       Status      `json:"status"`
	Problem      string      `json:"problem,omitzero"`
}

// hashConfig returns a text that differs for each configuration of a server and does not show its secrets.
func hashConfig(c config.MCP) string {
	text, _ := json.Marshal(c, json.Deterministic(true), jsontext.AllowInvalidUTF8(true)) // its types have JSON forms
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// newCachedOffer returns what is kept of an offer.
func newCachedOffer(c config.MCP, o offer) cachedOffer {
	out := cachedOffer{
		Config: hashConfig(c), HasResources: o.hasResources, Instructions: o.instructions, Status: Connected,
	}
	for _, t := range o.tools {
		out.Tools = append(out.Tools, &sdk.Tool{
			Name: t.remote, Description: t.description, InputSchema: t.schema, Annotations: &t.hints,
		})
	}
	return out
}

// newCachedFailure returns what is kept of a failed attempt.
func newCachedFailure(c config.MCP, status Status, problem string) cachedOffer {
	return cachedOffer{Config: hashConfig(c), Status: status, Problem: session.ClipText(problem, maxReason)}
}

// offer returns the tools and instructions of a server as newCachedOffer got them.
func (c cachedOffer) offer(server string) offer {
	out := offer{hasResources: c.HasResources, instructions: c.Instructions}
	_ = out.readTools(func(yield func(*sdk.Tool, error) bool) { // no tool is an error
		for _, t := range c.Tools {
			if !yield(t, nil) {
				return
			}
		}
	}, server)
	return out
}

// path returns the file of a server.
func (c *OfferCache) path(directory, server string) string {
	sum := sha256.Sum256([]byte(directory + "\x00" + server))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:16])+".json")
}

// load returns how the last attempt to connect a server of a directory ended. It returns the zero value if the cache has
// none with this configuration, or is nil.
func (c *OfferCache) load(directory, server string, cfg config.MCP) (out cachedOffer) {
	if c == nil {
		return out
	}
	text, err := statefile.Read(c.path(directory, server), maxOfferFile)
	if err != nil || json.Unmarshal(text, &out) != nil || out.Config != hashConfig(cfg) {
		return cachedOffer{}
	}
	return out
}

// encode returns the content of the file. Equal values have equal texts.
func (c cachedOffer) encode() ([]byte, error) {
	return json.Marshal(c, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// store keeps the text of a cachedOffer. A nil cache keeps nothing.
func (c *OfferCache) store(directory, server string, text []byte) error {
	if c == nil {
		return nil
	}
	path := c.path(directory, server)
	if len(text) > maxOfferFile {
		text = []byte("null")
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	c.prune(filepath.Base(path))
	return statefile.ReplaceUnsynced(path, text, 0o600)
}

// prune makes room for a file by removing those that were written first.
func (c *OfferCache) prune(name string) {
	files, err := os.ReadDir(c.dir)
	isThere := slices.ContainsFunc(files, func(f os.DirEntry) bool { return f.Name() == name })
	if err != nil || isThere || len(files) < maxOfferFiles {
		return
	}
	written := func(f os.DirEntry) int64 {
		info, err := f.Info()
		if err != nil { // it is gone
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(files, func(a, b os.DirEntry) int { return cmp.Compare(written(a), written(b)) })
	for _, f := range files[:len(files)-maxOfferFiles+1] {
		_ = os.Remove(filepath.Join(c.dir, f.Name())) // another process may have done it
	}
}

// recallOffer makes a server offer what it did at the end of the last attempt, before the first one of this process.
// mu is held.
func (s *server) recallOffer() {
	s.cached = s.set.pool.options.Offers.load(s.set.directory, s.name, s.config)
	if s.cached.Status == Connected {
		s.offer, s.isExpected = s.cached.offer(s.name), true
		s.version++
	}
}

// cacheOutcome keeps how an attempt ended, if it ended otherwise than the one before.
func (s *server) cacheOutcome(now cachedOffer) {
	s.mu.Lock()
	before := s.cached
	s.cached = now
	s.mu.Unlock()
	text, err := now.encode()
	if was, errBefore := before.encode(); err == nil && errBefore == nil && bytes.Equal(text, was) {
		return
	}
	if err == nil {
		err = s.set.pool.options.Offers.store(s.set.directory, s.name, text)
	}
	if err != nil {
		s.set.pool.options.Log.Warn("the tools of an MCP server are not remembered", "server", s.name, "error", err)
	}
}
