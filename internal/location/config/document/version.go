package document

import "strconv"

// VersionKey is the key that says for which version of the configuration a document was written.
const VersionKey = "version"

// TakeVersion removes the document's version and returns it: 1 for a document without one. A version that is no whole
// number is an error, because it does not say what the other keys mean.
func (d *Document) TakeVersion() (int, *Node, error) {
	n := d.Root.RemoveMember(VersionKey)
	if n == nil {
		return 1, nil, nil
	}
	version, err := strconv.Atoi(string(n.Raw))
	if n.Kind != '0' || err != nil || version < 1 {
		return 0, n, d.NewError(n.Offset, VersionKey, "want a whole number, 1 or more, got %s", n.FormatExcerpt())
	}
	return version, n, nil
}

// NewText returns a text that stands where the value at stands.
func (d *Document) NewText(at *Node, text string) *Node {
	return &Node{Kind: '"', Raw: AppendQuoted(nil, text), Text: text, Doc: d, Offset: at.Offset}
}
