-- When a session changed last, for lists of what changed last: no earlier than that, and no later than the end of its
-- minute or so (2^16 ms). What changes again in the same one writes no index.
DROP INDEX session_by_minute;
DROP INDEX session_by_project_minute;
ALTER TABLE session DROP COLUMN minute;
ALTER TABLE session ADD COLUMN recent INTEGER NOT NULL DEFAULT 0;
UPDATE session SET recent = time_updated;
CREATE INDEX session_by_recent ON session (recent);
CREATE INDEX session_by_project_recent ON session (project_id, recent);
