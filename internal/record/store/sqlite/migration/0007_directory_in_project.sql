-- The list of a repository tests the directories of sessions outside of projects in the index, and reads no row of a
-- session elsewhere.
DROP INDEX session_by_project;
CREATE INDEX session_by_project ON session (project_id, time_created, id, directory);
