//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/transfer/foreign"
	"github.com/cairn-dev/cairn/internal/transfer/opencodedb"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// The databases that are imported.
const (
	foreignSize     = 200 << 20 // bytes of the database with many sessions
	foreignMessages = 200       // of each of its sessions
	longMessages    = 20_000    // of the session of the other database
	maxImportMemory = 150       // MiB
)

// measureForeign imports databases of OpenCode 1.x with the command line: one with many sessions, and one with a single
// long one. The limit is what reading and decoding every row takes in this process.
func (b *bench) measureForeign(ctx context.Context) error {
	session := foreignSession{messages: foreignMessages}
	sessions := b.scaleCount(foreignSize / (foreignMessages * foreignRowSize))
	if err := b.importForeign(ctx, fmt.Sprintf("%d sessions", sessions), session, sessions); err != nil {
		return err
	}
	session.messages = b.scaleCount(longMessages)
	return b.importForeign(ctx, fmt.Sprintf("1 session of %d messages", session.messages), session, 1)
}

func (b *bench) importForeign(ctx context.Context, name string, s foreignSession, sessions int) error {
	path := filepath.Join(b.dir, strings.ReplaceAll(name, " ", "-")+".db")
	s.directory = b.work
	if err := writeForeign(path, s, sessions); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	// Read all rows, without keeping them.
	quiet := b.settle(ctx)
	start, read := time.Now(), 0
	_, err = opencodedb.Read(ctx, path, func(s foreign.Session) error {
		read += len(s.Messages)
		return nil
	})
	decoding := toMillis(time.Since(start))
	if err != nil || read != sessions*s.messages {
		return errors.Join(err, fmt.Errorf("%d messages were read", read))
	}
	// Import them into a new store.
	h := b.newHome("foreign-" + strings.ReplaceAll(name, " ", "-"))
	ms, rss, err := runCommand(h.newCommand(ctx, b.binary, "import", "--from", "opencode", path))
	if err != nil {
		return err
	}
	again, _, err := runCommand(h.newCommand(ctx, b.binary, "import", "--from", "opencode", path))
	if err != nil {
		return err
	}
	foreign := quiet.foreignSince()
	what := fmt.Sprintf("import of OpenCode, %d MiB, %s", info.Size()>>20, name)
	b.add(row{
		ID: "P31", What: what, Figure: ms, Unit: "ms", N: 1, Target: 10 * decoding, Limit: decoding, Of: "decoding every row",
		Foreign: foreign,
	})
	b.add(row{
		ID: "P31", What: "the same again, unchanged", Figure: again, Unit: "ms", N: 1, Limit: decoding, Of: "decoding every row",
		Foreign: foreign,
	})
	b.add(row{
		ID: "P31", What: "peak RSS of the import, " + name, Figure: rss, Unit: "MiB", N: 1, Target: maxImportMemory,
		Foreign: foreign,
	})
	return nil
}

// foreignSession says what the sessions of a database are like: a prompt, then turns that read a file.
type foreignSession struct {
	messages  int
	directory string
}

// foreignRowSize is about what a message takes with its parts, in bytes of the database.
const foreignRowSize = 3_000

// writeForeign makes a database in the form of OpenCode 1.2.
func writeForeign(path string, s foreignSession, sessions int) (err error) {
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	err = sqlitex.ExecuteScript(c, `
		CREATE TABLE session(id TEXT PRIMARY KEY, parent_id, project_id, slug, directory, title, version, time_created, time_updated);
		CREATE TABLE message(id TEXT PRIMARY KEY, session_id, time_created, data);
		CREATE TABLE part(id TEXT PRIMARY KEY, message_id, session_id, data);
		CREATE INDEX message_session ON message(session_id);
		CREATE INDEX part_message ON part(message_id);
		CREATE INDEX part_session ON part(session_id);`, nil)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range sessions {
		end, err := sqlitex.ImmediateTransaction(c)
		if err == nil {
			err = s.write(c, random, i)
			end(&err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes one session.
func (s foreignSession) write(c *sqlite.Conn, random *rand.Rand, n int) error {
	const base = 1_790_000_000_000
	id := fmt.Sprintf("ses_%012x%014d", n, n)
	insert := func(table string, values ...any) error {
		marks := strings.TrimSuffix(strings.Repeat("?,", len(values)), ",")
		return sqlitex.Execute(c, "INSERT INTO "+table+" VALUES("+marks+")", &sqlitex.ExecOptions{Args: values})
	}
	err := insert("session", id, nil, "global", "slug", s.directory, "Session", "1.2.1", base, base)
	prompt := ""
	for i := 0; i < s.messages && err == nil; i++ {
		number := n*s.messages + i
		at := base + int64(i)
		m := fmt.Sprintf("msg_%012x%014d", number, number)
		part := func(k int, data string) {
			if err == nil {
				err = insert("part", fmt.Sprintf("prt_%012x%07d%07d", number, number%10_000_000, k), m, id, data)
			}
		}
		if i%20 == 0 {
			prompt = m
			err = insert("message", m, id, at, fmt.Sprintf(
				`{"role":"user","time":{"created":%d},"agent":"build","model":{"providerID":"p","modelID":"m"}}`, at,
			))
			part(0, `{"type":"text","text":"What does the file say?"}`)
			continue
		}
		err = insert("message", m, id, at, fmt.Sprintf(`{"role":"assistant","time":{"created":%d,"completed":%d},"parentID":%q,
			"modelID":"m","providerID":"p","mode":"build","agent":"build","path":{"cwd":%q,"root":%q},"cost":0.001,
			"tokens":{"input":100,"output":20,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"}`,
			at, at+1, prompt, s.directory, s.directory))
		part(0, `{"type":"step-start"}`)
		part(1, fmt.Sprintf(`{"type":"tool","callID":"call_%d","tool":"read","state":{"status":"completed",
			"input":{"filePath":"a.txt"},"output":"%0*d","title":"a.txt","metadata":{},"time":{"start":%d,"end":%d}}}`,
			number, 1_500, random.Int64(), at, at+1))
		part(2, `{"type":"step-finish","reason":"tool-calls","cost":0.001,
			"tokens":{"input":100,"output":20,"reasoning":0,"cache":{"read":0,"write":0}}}`)
	}
	return err
}
