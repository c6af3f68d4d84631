-- A search among what changed last reads the titles from the index, and no row of a session that has another one.
DROP INDEX session_by_recent;
DROP INDEX session_by_project_recent;
CREATE INDEX session_by_recent ON session (recent, title);
CREATE INDEX session_by_project_recent ON session (project_id, recent, title);
