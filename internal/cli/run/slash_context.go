package run

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
)

// compactHistory requests a summary of the session's history. Its events show how it comes out.
func (t *conversation) compactHistory(ctx context.Context, instructions string) {
	if t.session == nil {
		t.showNote("there is no history yet; send a prompt first")
		return
	}
	id := t.session.ID
	if t.callAPI(ctx, func(ctx context.Context) error {
		_, err := t.api.Compact(ctx, id, api.CompactRequest{Instructions: instructions})
		return err
	}) {
		t.expectIdle(ctx)
	}
}

// showContext shows the size of the session's next request.
func (t *conversation) showContext(ctx context.Context) {
	if t.session == nil {
		t.showNote("there is no session yet; send a prompt first")
		return
	}
	id := t.session.ID
	t.callAPI(ctx, func(ctx context.Context) error {
		r, err := api.Contexts{Client: t.api}.NextRequest(ctx, id, false)
		if err != nil {
			return err
		}
		for _, l := range describe.DescribeNextRequest(r) {
			t.showText(l)
		}
		t.showText("cairn context " + string(id) + " shows it by source")
		return nil
	})
}
