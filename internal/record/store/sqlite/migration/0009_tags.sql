-- The tags of a session with a comma before and after each one, '' without any. A list with tags reads them from the
-- index, which has the tagged sessions only.
ALTER TABLE session ADD COLUMN tags TEXT NOT NULL DEFAULT '';
CREATE INDEX session_tagged ON session (tags) WHERE tags <> '';
