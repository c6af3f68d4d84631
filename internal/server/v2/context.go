package v2

import (
	"context"
	"net/http"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// contextHandlers show the contexts of models.
type contextHandlers struct{ *dependencies }

// fullText reports whether a client asks for the texts, too.
type fullText bool

// DecodeRequest implements operation.Decoder.
func (f *fullText) DecodeRequest(r *http.Request) error {
	v := r.URL.Query().Get("full")
	*f = v == "1" || v == "true"
	return nil
}

// nextRequest returns the request that the session's next turn would send.
func (h contextHandlers) nextRequest(ctx context.Context, in struct {
	sessionIn
	Full fullText `query:"full"`
},
) (out api.Data[api.ContextRequest], err error) {
	if h.Requests == nil {
		return out, session.NotFound("path", "/api/session/"+string(in.SessionID)+"/context/request")
	}
	v, err := h.Requests.NextRequest(ctx, in.SessionID, bool(in.Full))
	return newData(v), err
}

// previewCompaction returns what a compaction of the session would do.
func (h contextHandlers) previewCompaction(ctx context.Context, in struct {
	sessionIn
	Full         fullText `query:"full"`
	Instructions string   `query:"instructions"`
	Model        string   `query:"model"`
},
) (out api.Data[api.CompactionPreview], err error) {
	if h.Requests == nil {
		return out, session.NotFound("path", "/api/session/"+string(in.SessionID)+"/compact/preview")
	}
	r := session.CompactionRequest{Instructions: in.Instructions}
	if in.Model != "" {
		provider, id, ok := strings.Cut(in.Model, "/")
		if !ok {
			return out, httpio.NewInvalid("query", "model", "model must be PROVIDER/MODEL")
		}
		r.Model = &session.ModelRef{ProviderID: provider, ID: id}
	}
	v, err := h.Requests.PreviewCompaction(ctx, in.SessionID, r, bool(in.Full))
	return newData(v), err
}

// explainInstruction says whether a file is in the system context of the location.
func (h contextHandlers) explainInstruction(ctx context.Context, in struct {
	locationIn
	Path string `query:"path"`
},
) (out api.Data[api.InstructionVerdict], err error) {
	switch {
	case h.Explainer == nil:
		return out, session.NotFound("path", "/api/context/explain")
	case in.Path == "":
		return out, httpio.NewInvalid("query", "path", "path is missing: it must name a file")
	}
	v, err := h.Explainer.ExplainInstruction(ctx, in.Location.Location, in.Path)
	return newData(v), httpio.WithPart("query", err)
}
