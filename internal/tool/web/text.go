package web

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"github.com/cairn-dev/cairn/internal/tool"
)

// mediaType returns the type of an image or a PDF, by its first bytes or the Content-Type; "" for anything else.
func (p *page) mediaType() string {
	switch sniffed, _, _ := strings.Cut(http.DetectContentType(p.body), ";"); sniffed {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf":
		return sniffed
	default:
		return ""
	}
}

// maxTags bounds the tags of a page that is parsed into a tree, because parsing cannot be interrupted and takes memory
// for each.
const maxTags = 200_000

// formatText returns the page as text in the format.
func (p *page) formatText(format string) (string, error) {
	if !p.isText() {
		return "", tool.Failf("%s is not text but %s, %d bytes: it cannot be shown.", p.url, p.mime, len(p.body))
	}
	text, err := p.decodeBody()
	if err != nil {
		return "", err
	}
	if format == "html" || !p.isHTML() {
		return text, nil
	}
	if strings.Count(text, "<") > maxTags {
		return stripTags(text), nil
	}
	root, err := html.Parse(strings.NewReader(text))
	if err != nil { // nested too deep for a tree; its words are still readable
		return stripTags(text), nil
	}
	removeHidden(root)
	if format == "text" {
		return extractText(root), nil
	}
	return p.convertMarkdown(root)
}

// isText reports whether the page is text, by the Content-Type, or by its first bytes without that header.
func (p *page) isText() bool {
	if bytes.IndexByte(p.body, 0) >= 0 && !strings.Contains(strings.ToLower(p.contentType), "utf-16") {
		return false
	}
	if p.mime == "" || p.mime == "application/octet-stream" {
		p.mime, _, _ = strings.Cut(http.DetectContentType(p.body), ";")
	}
	if strings.HasPrefix(p.mime, "text/") || strings.HasSuffix(p.mime, "+json") || strings.HasSuffix(p.mime, "+xml") ||
		strings.HasSuffix(p.mime, "+yaml") {
		return true
	}
	switch strings.TrimPrefix(p.mime, "application/") {
	case "json", "x-ndjson", "jsonl", "xml", "javascript", "x-javascript", "ecmascript", "typescript", "yaml", "x-yaml",
		"toml", "sql", "graphql",
		"x-sh", "x-httpd-php", "x-www-form-urlencoded", "x-tex", "x-subrip":
		return true
	default:
		return false
	}
}

func (p *page) isHTML() bool { return p.mime == "text/html" || p.mime == "application/xhtml+xml" }

// decodeBody converts the body to UTF-8, from the encoding that the server, the page or its bytes name.
func (p *page) decodeBody() (string, error) {
	content := p.contentType
	if content == "" {
		content = p.mime
	}
	r, err := charset.NewReader(bytes.NewReader(p.body), content)
	if errors.Is(err, io.EOF) { // the body is empty
		return "", nil
	}
	if err != nil {
		return "", tool.Failf("%s is in an encoding that cannot be read.", p.url)
	}
	text, err := io.ReadAll(io.LimitReader(r, 3*maxBody))
	if err != nil {
		return "", tool.Failf("%s is in an encoding that cannot be read.", p.url)
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}

func (p *page) convertMarkdown(root *html.Node) (string, error) {
	conv := converter.NewConverter(
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()),
	)
	out, err := conv.ConvertNode(root, converter.WithDomain(p.url.String()))
	if err != nil {
		return "", tool.Failf("%s could not be turned into markdown; fetch it as text or html.", p.url)
	}
	return strings.TrimSpace(string(out)), nil
}

// removeHidden removes elements that a reader does not see.
func removeHidden(n *html.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.CommentNode || (c.Type == html.ElementNode && isHiddenElement(c.DataAtom)) {
			n.RemoveChild(c)
		} else {
			removeHidden(c)
		}
		c = next
	}
}

func isHiddenElement(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Meta, atom.Link, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed,
		atom.Svg:
		return true
	default:
		return false
	}
}

// extractText returns the text of a page: a line for each block, with white space collapsed unless it is preformatted.
func extractText(root *html.Node) string {
	var b strings.Builder
	writePlain(&b, root, false)
	lines := strings.Split(b.String(), "\n")
	var out []string
	for _, l := range lines {
		l = strings.TrimRight(strings.ReplaceAll(l, "\u00a0", " "), " \t")
		if t := strings.TrimLeft(l, " "); len(l)-len(t) == 1 { // between two blocks
			l = t
		}
		if l == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, l)
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

func writePlain(b *strings.Builder, n *html.Node, verbatim bool) {
	if n.Type == html.TextNode {
		writeText(b, n.Data, verbatim)
		return
	}
	breaks := n.Type == html.ElementNode && isBlock(n.DataAtom)
	if breaks {
		b.WriteByte('\n')
	}
	if n.PrevSibling != nil && (n.DataAtom == atom.Td || n.DataAtom == atom.Th) {
		b.WriteByte('\t')
	}
	verbatim = verbatim || n.DataAtom == atom.Pre || n.DataAtom == atom.Textarea
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		writePlain(b, c, verbatim)
	}
	if breaks {
		b.WriteByte('\n')
	}
}

func writeText(b *strings.Builder, text string, verbatim bool) {
	if verbatim {
		b.WriteString(text)
		return
	}
	words := strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\f", r) }), " ")
	if words == "" {
		if text != "" {
			b.WriteByte(' ')
		}
		return
	}
	if strings.ContainsAny(text[:1], " \t\r\n\f") {
		b.WriteByte(' ')
	}
	b.WriteString(words)
	if strings.ContainsAny(text[len(text)-1:], " \t\r\n\f") {
		b.WriteByte(' ')
	}
}

func isBlock(a atom.Atom) bool {
	switch a {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Br, atom.Dd, atom.Details, atom.Div, atom.Dl,
		atom.Dt, atom.Figcaption,
		atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hr,
		atom.Li, atom.Main,
		atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Title, atom.Tr, atom.Ul:
		return true
	default:
		return false
	}
}

// stripTags returns the text of a page that cannot be parsed into a tree.
func stripTags(page string) string {
	var b strings.Builder
	skip := 0
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.StartTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); a == atom.Script || a == atom.Style {
				skip++
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); (a == atom.Script || a == atom.Style) && skip > 0 {
				skip--
			}
		case html.TextToken:
			if skip == 0 {
				writeText(&b, string(z.Text()), false)
			}
		}
	}
}
