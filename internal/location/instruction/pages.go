package instruction

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// webPage is the result of reading a page.
type webPage struct {
	body []byte
	err  error
}

// readPages reads all pages of the groups at once. Pages that are not fetched, for want of https, are left out.
func (o Options) readPages(ctx context.Context, groups [][]candidate) map[string]*webPage {
	pages := map[string]*webPage{}
	var wg sync.WaitGroup
	for _, group := range groups {
		for _, c := range group {
			if !c.page || pages[c.path] != nil || o.Pages == nil || o.Pages.Check(c.path) != nil {
				continue
			}
			p := &webPage{}
			pages[c.path] = p
			wg.Go(func() { p.body, p.err = o.Pages.Read(ctx, c.path) })
		}
	}
	wg.Wait()
	return pages
}

// clean returns at most limit bytes of raw as valid text, with a note about what was cut off.
func clean(raw []byte, limit int, longer string) string {
	text := strings.ToValidUTF8(string(cut(raw, limit)), "\uFFFD")
	text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", "\uFFFD"))
	if len(raw) > limit {
		note := fmt.Sprintf("(Cut here: %s, and instructions are limited to %d bytes in all.)", longer, MaxBytes)
		text = strings.TrimSpace(text + "\n" + note)
	}
	return text
}
