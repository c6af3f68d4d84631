package markdown

import (
	"fmt"
	"html"
	"strings"
)

// RenderHTML returns the text as HTML. HTML in the text is text, and links lead to http, https and mailto only.
func RenderHTML(text string) string {
	var r htmlRenderer
	for line := range strings.Lines(text) {
		r.addLine(expandTabs(line))
	}
	r.open("")
	return r.out.String()
}

// htmlRenderer renders lines one after another.
type htmlRenderer struct {
	out   strings.Builder
	block string // the element that is open: p, pre, ul, ol, blockquote, table; "" without one
	fence string // that ends the code block; "" outside of one
}

// open ends the open block and begins another one, unless it is the same.
func (r *htmlRenderer) open(block string) {
	if block == r.block {
		return
	}
	if r.block != "" {
		fmt.Fprintf(&r.out, "</%s>\n", r.block)
	}
	if r.block = block; block != "" {
		fmt.Fprintf(&r.out, "<%s>", block)
	}
}

func (r *htmlRenderer) addLine(line string) {
	trimmed := strings.TrimSpace(line)
	switch mark := fenceOf(trimmed); {
	case r.fence != "" && closesFence(trimmed, r.fence):
		r.fence = ""
		r.open("")
	case r.fence != "":
		r.out.WriteString(html.EscapeString(line) + "\n")
	case mark != "":
		r.open("")
		r.fence = mark
		r.open("pre")
	case isRow(trimmed):
		r.addRow(splitRow(trimmed))
	default:
		r.addBlock(line, trimmed)
	}
}

// addRow adds a row of a table, of which the first one is the heading.
func (r *htmlRenderer) addRow(cells []string) {
	element := "td"
	if r.block != "table" {
		element = "th"
	} else if isDivider(cells) {
		return
	}
	r.open("table")
	r.out.WriteString("<tr>")
	for _, c := range cells {
		fmt.Fprintf(&r.out, "<%s>%s</%[1]s>", element, paintHTML(c))
	}
	r.out.WriteString("</tr>\n")
}

// addBlock adds a line outside of code and tables.
func (r *htmlRenderer) addBlock(line, trimmed string) {
	// In the order of the renderer for terminals.
	if trimmed == "" {
		r.open("")
		return
	}
	if m := heading.FindStringSubmatch(line); m != nil {
		r.open("")
		fmt.Fprintf(&r.out, "<h%d>%s</h%[1]d>\n", len(m[1]), paintHTML(m[2]))
		return
	}
	if rule.MatchString(line) {
		r.open("")
		r.out.WriteString("<hr>\n")
		return
	}
	if quote, ok := strings.CutPrefix(trimmed, ">"); ok {
		r.open("blockquote")
		r.out.WriteString(paintHTML(strings.TrimSpace(quote)) + "<br>\n")
		return
	}
	if m := listItem.FindStringSubmatch(line); m != nil {
		r.addItem(len(m[1]), m[2], m[3])
		return
	}
	if r.block == "ul" || r.block == "ol" { // goes on with the item
		r.out.WriteString("<br>" + paintHTML(trimmed) + "\n")
		return
	}
	if r.block == "p" {
		r.out.WriteString("<br>\n")
	}
	r.open("p")
	r.out.WriteString(paintHTML(trimmed))
}

// addItem adds an item of a list. One that is nested is moved to the right.
func (r *htmlRenderer) addItem(indent int, mark, text string) {
	if strings.Contains("-*+", mark) {
		r.open("ul")
	} else {
		r.open("ol")
	}
	if box := taskBox.FindStringSubmatch(text); box != nil {
		text = map[bool]string{true: "☐ ", false: "☑ "}[box[1] == " "] + text[len(box[0]):]
	}
	attributes := ""
	if indent > 0 {
		attributes = fmt.Sprintf(` style="margin-left:%dem"`, min(indent, 40)/2)
	}
	if number := strings.TrimRight(mark, ".)"); r.block == "ol" {
		attributes += ` value="` + number + `"`
	}
	fmt.Fprintf(&r.out, "<li%s>%s\n", attributes, paintHTML(text))
}

func paintHTML(text string) string { return inline{htmlPainter{}, 0}.styleText(text) }

// htmlPainter paints as HTML.
type htmlPainter struct{}

func (htmlPainter) plain(text string) string { return html.EscapeString(text) }
func (htmlPainter) code(text string) string  { return "<code>" + html.EscapeString(text) + "</code>" }

func (htmlPainter) emphasis(mark, inner string) string {
	element := "em"
	switch {
	case mark == "~~":
		element = "del"
	case len(mark) == 2:
		element = "strong"
	}
	return "<" + element + ">" + inner + "</" + element + ">"
}

func (p htmlPainter) link(label, target string) string {
	for _, scheme := range []string{"http://", "https://", "mailto:"} {
		if strings.HasPrefix(strings.ToLower(target), scheme) {
			return `<a href="` + html.EscapeString(target) + `">` + html.EscapeString(label) + "</a>"
		}
	}
	return p.plain(label + " (" + target + ")")
}
