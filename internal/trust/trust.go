// Package trust decides whether a project's files may do more than speak. What in them executes, redirects or loosens
// is a Claim; it has no effect until somebody trusts exactly that content, in that checkout. A changed file is another
// claim, so that a change asks again.
//
// Nothing here runs or connects to anything: a claim is read, hashed and compared.
package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
)

// None is the word with which nothing is trusted, whatever was trusted before.
const None = "none"

// Claim is what the files of one project want beyond speaking.
type Claim struct {
	Root    string // the real path of the checkout, or of the directory outside of one
	Project string // its identity
	Files   []File // by path, each once
	Problem string // why this cannot be trusted, whatever anybody says; "" when it can

	bytes int64 // of the files that were read
}

// File is one file of a claim, and what in it counts.
type File struct {
	Path string            `json:"path"` // below the root, with slashes
	Sum  [sha256.Size]byte `json:"-"`
	Why  []string          `json:"why"` // keys of a configuration, or what the file is
}

// Empty reports whether there is nothing to trust.
func (c *Claim) Empty() bool { return len(c.Files) == 0 && c.Problem == "" }

// Hash names the content: the same files with the same bytes have the same hash.
func (c *Claim) Hash() string {
	h := sha256.New()
	for _, f := range c.Files {
		_ = binary.Write(h, binary.BigEndian, int64(len(f.Path))) // a hash takes everything
		h.Write([]byte(f.Path))
		h.Write(f.Sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Add puts a file's content into the claim. One that is there gets the further reasons.
func (c *Claim) Add(path string, content []byte, why ...string) {
	i, found := slices.BinarySearchFunc(c.Files, path, func(f File, path string) int { return cmp.Compare(f.Path, path) })
	if !found {
		c.Files = slices.Insert(c.Files, i, File{Path: path, Sum: sha256.Sum256(content)})
	}
	for _, w := range why {
		if !slices.Contains(c.Files[i].Why, w) {
			c.Files[i].Why = append(c.Files[i].Why, w)
		}
	}
}

// fail keeps the first reason why the claim cannot be trusted.
func (c *Claim) fail(path, why string) {
	if c.Problem == "" {
		c.Problem = path + " " + why
	}
}

// Judge decides about claims: by what is stored and by the word of one command.
type Judge struct {
	Store *Store
	Word  string // "" nothing more than the store; None; or a hash that is trusted too
}

// Trusted reports whether the claim may take effect. A claim without content has nothing to be trusted with.
func (j Judge) Trusted(c *Claim) bool {
	switch {
	case c.Problem != "" || c.Empty() || j.Word == None:
		return false
	case j.Word != "" && strings.EqualFold(j.Word, c.Hash()):
		return true
	default:
		return j.Store.Trusted(c)
	}
}

// Path is the file with which the answers may change.
func (j Judge) Path() string { return j.Store.Path() }

// IsWord reports whether text is a word for a Judge: None or the hash of a claim.
func IsWord(text string) bool {
	raw, err := hex.DecodeString(text)
	return text == None || err == nil && len(raw) == sha256.Size
}
