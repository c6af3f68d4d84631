-- The minute or so (2^16 ms) in which a session changed last, for lists of what changed last. The time itself is in no
-- index: it changes several times in a turn, and each change would write two pages more.
ALTER TABLE session ADD COLUMN minute INTEGER NOT NULL DEFAULT 0;
UPDATE session SET minute = time_updated >> 16;
CREATE INDEX session_by_minute ON session (minute);
CREATE INDEX session_by_project_minute ON session (project_id, minute);
