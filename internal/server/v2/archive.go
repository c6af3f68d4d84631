package v2

import (
	"bufio"
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/archive"
	"github.com/cairn-dev/cairn/internal/record/logfile"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// ArchiveService exports and imports the logs of sessions.
type ArchiveService interface {
	OpenExport(ctx context.Context, ids []session.ID) (*archive.Export, error)
	Upload(ctx context.Context, p archive.Piece) (*archive.Progress, error)
}

// archiveHandlers export and import logs.
type archiveHandlers struct{ *dependencies }

// exportedLog is a response of lines of JSON.
type exportedLog struct{ export *archive.Export }

// Respond implements operation.Response. A failure in the middle is a line of its own, with which the log ends.
func (l exportedLog) Respond(w http.ResponseWriter, r *http.Request) error {
	_, media := l.DescribeResponse()
	w.Header().Set("Content-Type", media)
	out := bufio.NewWriterSize(w, 64<<10)
	if err := l.export.Write(r.Context(), out); err != nil {
		_, _ = out.Write(logfile.EncodeError(httpio.PublicError(err).Message)) // Flush returns the error
	}
	_ = out.Flush() // a client that has disconnected is no error
	return nil
}

// DescribeResponse implements operation.Response.
func (exportedLog) DescribeResponse() (t reflect.Type, media string) {
	return reflect.TypeFor[string](), "application/x-ndjson"
}

func (h archiveHandlers) exportLog(ctx context.Context, in struct {
	Sessions string `query:"session" required:"true"`
},
) (out exportedLog, err error) {
	var ids []session.ID
	for id := range strings.SplitSeq(in.Sessions, ",") {
		if err := session.CheckID("session", session.PrefixSession, id); err != nil {
			return out, httpio.WithPart("query", err)
		}
		ids = append(ids, session.ID(id))
	}
	out.export, err = h.Archive.OpenExport(ctx, ids)
	return out, err
}

// importLog receives a piece of an exported log. With the last one its sessions are created at the location of the
// request.
func (h archiveHandlers) importLog(ctx context.Context, in struct {
	Location operation.Location
	Body     api.LogPiece `body:"required"`
},
) (out api.Data[api.LogProgress], err error) {
	got, err := h.Archive.Upload(ctx, archive.Piece{
		SHA256: in.Body.SHA256, Size: in.Body.Size, Offset: in.Body.Offset, Data: in.Body.Data,
		Location: in.Location.Location,
	})
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	out.Data.Received = got.Received
	if r := got.Result; r != nil {
		out.Data.Result = &api.LogImport{
			Sessions: r.Sessions, Here: r.Here, Deleted: r.Deleted, Known: r.Known, Grants: r.Grants, Missing: r.Missing,
		}
	}
	return out, nil
}
