package opencodedb

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/opencodev1"
	"github.com/cairn-dev/cairn/internal/transfer/sqlitefile"
)

// readV1 reads a session of the tables of 1.x. With an error it returns what was read until then.
func (r *reader) readV1(id string) (foreign.Session, error) {
	b := opencodev1.NewBuilder(id)
	for row, err := range r.db.Rows(`SELECT * FROM session WHERE id = ?1`, id) {
		if err != nil {
			return b.Done(), err
		}
		b.Info(opencodev1.Row{Name: id, Data: infoOf(row.Object()).Value()})
	}
	todos, err := r.readTodos(id)
	b.Todos(todos)
	if err == nil {
		err = r.readMessages(b, id)
	}
	return b.Done(), err
}

// readMessages adds the messages with their parts.
func (r *reader) readMessages(b *opencodev1.Builder, id string) error {
	const messages = `SELECT id, data FROM message WHERE session_id = ?1 ORDER BY time_created, id`
	const parts = `SELECT id, data FROM part WHERE message_id = ?1 ORDER BY id`
	const lost = `SELECT count(*) FROM part p WHERE session_id = ?1
		AND NOT EXISTS (SELECT 1 FROM message m WHERE m.id = p.message_id)`
	for row, err := range r.db.Rows(messages, id) {
		if err != nil {
			return err
		}
		m := opencodev1.Message{Row: rowOf(row)}
		for row, err := range r.db.Rows(parts, m.ID) {
			if err != nil {
				b.Add(m)
				return err
			}
			m.Parts = append(m.Parts, rowOf(row))
		}
		b.Add(m)
	}
	for row, err := range r.db.Rows(lost, id) {
		if err != nil {
			return err
		}
		if n := row.Int(0); n > 0 {
			b.Problem(id, "parts", "parts of messages that are missing: "+strconv.FormatInt(n, 10))
		}
	}
	return nil
}

// rowOf returns a row of id and data.
func rowOf(row sqlitefile.Row) opencodev1.Row {
	out := opencodev1.Row{ID: row.Text(0)}
	out.Name = out.ID
	out.Data, out.Reason = row.Bytes(1)
	return out
}

// infoOf returns the session in the form of V1 of a row of the table session or session_v2.
func infoOf(row foreign.Object) foreign.Object {
	out := foreign.Object{}
	copyTo := func(to foreign.Object, pairs ...string) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if row.Has(pairs[i]) {
				to[pairs[i+1]] = row[pairs[i]]
			}
		}
	}
	copyTo(out, "slug", "slug", "project_id", "projectID", "workspace_id", "workspaceID", "parent_id", "parentID",
		"directory", "directory", "path", "path", "title", "title", "version", "version", "agent", "agent", "cost", "cost")
	// Columns that hold JSON.
	for _, name := range []string{"revert", "permission", "model", "metadata"} {
		if v := jsontext.Value(row.Text(name)); v.IsValid() && v.Kind() != 'n' {
			out[name] = v
		}
	}
	// Members that are spread over columns.
	times, summary, cache, tokens := foreign.Object{}, foreign.Object{}, foreign.Object{}, foreign.Object{}
	copyTo(times, "time_created", "created", "time_updated", "updated", "time_archived", "archived")
	copyTo(summary, "summary_additions", "additions", "summary_deletions", "deletions", "summary_files", "files")
	copyTo(cache, "tokens_cache_read", "read", "tokens_cache_write", "write")
	copyTo(tokens, "tokens_input", "input", "tokens_output", "output", "tokens_reasoning", "reasoning")
	if len(tokens) > 0 {
		out["tokens"] = tokens.With("cache", cache.Value()).Value()
	}
	if len(summary) > 0 {
		out["summary"] = summary.Value()
	}
	out["time"] = times.Value()
	return out
}
