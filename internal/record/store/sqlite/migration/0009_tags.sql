-- The tags of a session with a comma before and after each one, '' without any. A list with tags reads them from the
-- index, which has the tagged sessions only.
ALTER TABLE session ADD COLUMN tags TEXT NOT NULL DEFAULT '';
CREATE INDEX session_tagged ON session (tags) WHERE tags <> '';

-- Whether the session is deleted when the command that created it ends. There are few of them at a time.
ALTER TABLE session ADD COLUMN ephemeral INTEGER NOT NULL DEFAULT 0;
CREATE INDEX session_ephemeral ON session (id) WHERE ephemeral = 1;
