package v2

import (
	"context"
	"io"
	"net/http"
	"reflect"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// Shares shares sessions, lists shares and revokes them.
type Shares interface {
	Share(ctx context.Context, id session.ID, r api.ShareRequest) (api.Share, error)
	Revoke(ctx context.Context, id session.ID) (api.Revocation, error)
	// Preview returns what is replaced before the session is shared.
	Preview(ctx context.Context, id session.ID) (api.SharePreview, error)
	// Page returns a function that writes the page of the active share with the id until the session is quiet.
	Page(ctx context.Context, id string) (func(context.Context, io.Writer, func() error) error, error)
	List() ([]api.Share, error)
	// Find returns the active share with the id; otherwise the error is not found.
	Find(ctx context.Context, id string) (api.Share, error)
}

// shareHandlers has the share operations.
type shareHandlers struct{ *dependencies }

// listShareOperations returns the share operations.
func (d *dependencies) listShareOperations() []operation.Operation {
	h := shareHandlers{d}
	return []operation.Operation{
		operation.New("admin POST "+sessionPath+"/share Share a session", "", h.share).WithStatuses(http.StatusConflict),
		operation.New("admin DELETE "+sessionPath+"/share Revoke the share of a session", "", h.revoke).
			WithStatuses(http.StatusConflict),
		operation.New("read GET "+sessionPath+"/share/preview List what is replaced before a session is shared",
			"", h.preview),
		operation.New("read GET /api/share List the shares", "", h.list).WithStatuses(http.StatusConflict),
		operation.New("read GET /api/share/{shareID}/page Show a shared session as a page that grows", "", h.showPage),
		operation.New("read GET /api/share/{shareID} Return an active share", "", h.get),
	}
}

func (h shareHandlers) share(ctx context.Context, in bodyOf[api.ShareRequest]) (api.Data[api.Share], error) {
	if e := in.Body.Expires; e != 0 && (e < api.MinShareTime.Milliseconds() || e > api.MaxShareTime.Milliseconds()) {
		return api.Data[api.Share]{}, session.Errorf(session.CodeInvalid, "expires is 0, or milliseconds from a minute to 100 years").
			At("body.expires")
	}
	out, err := h.Shares.Share(ctx, in.SessionID, in.Body)
	return newData(out), err
}

func (h shareHandlers) revoke(ctx context.Context, in sessionIn) (api.Data[api.Revocation], error) {
	out, err := h.Shares.Revoke(ctx, in.SessionID)
	return newData(out), err
}

func (h shareHandlers) list(context.Context, struct{}) (api.Data[[]api.Share], error) {
	out, err := h.Shares.List()
	return newData(out), err
}

func (h shareHandlers) get(ctx context.Context, in struct {
	ShareID string `path:"shareID"`
},
) (api.Data[api.Share], error) {
	out, err := h.Shares.Find(ctx, in.ShareID)
	return newData(out), err
}

func (h shareHandlers) preview(ctx context.Context, in sessionIn) (api.Data[api.SharePreview], error) {
	out, err := h.Shares.Preview(ctx, in.SessionID)
	return newData(out), err
}

// sharedPage is a page that is written while a reader has it open.
type sharedPage struct {
	handlers shareHandlers
	write    func(context.Context, io.Writer, func() error) error
}

// Respond implements operation.Response.
func (p sharedPage) Respond(w http.ResponseWriter, r *http.Request) error {
	ctx, end := p.handlers.long.Start(r.Context(), "")
	defer end()
	_, media := p.DescribeResponse()
	w.Header().Set("Content-Type", media)
	if err := p.write(ctx, w, http.NewResponseController(w).Flush); err != nil && ctx.Err() == nil {
		p.handlers.Logger.Warn("a page of a shared session ended early", "error", err)
	}
	return nil
}

// DescribeResponse implements operation.Response.
func (sharedPage) DescribeResponse() (t reflect.Type, media string) {
	return reflect.TypeFor[string](), "text/html; charset=utf-8"
}

func (h shareHandlers) showPage(ctx context.Context, in struct {
	ShareID string `path:"shareID"`
},
) (sharedPage, error) {
	write, err := h.Shares.Page(ctx, in.ShareID)
	return sharedPage{h, write}, err
}
