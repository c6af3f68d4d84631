-- The records of projects. From here on project_id of an approval is the id of a record; approvals of root commits and
-- directories are moved or dropped when a process opens the store (package project). Data has the whole record; the other columns find it.
CREATE TABLE project (
	id TEXT PRIMARY KEY NOT NULL,
	common TEXT NOT NULL,
	path TEXT NOT NULL,
	file TEXT NOT NULL,
	root TEXT NOT NULL,
	created INTEGER NOT NULL,
	crc INTEGER NOT NULL,
	data TEXT NOT NULL
);
CREATE INDEX project_by_common ON project (common) WHERE common <> '';
CREATE INDEX project_by_path ON project (path);
CREATE INDEX project_by_file ON project (file) WHERE file <> '';
CREATE INDEX project_by_root ON project (root) WHERE root <> '';

-- The record that a session names or, if it names none that exists, the one that adopted it. Lists of a project go by
-- record, in the order of creation or of the last change.
ALTER TABLE session ADD COLUMN record_id TEXT NOT NULL DEFAULT '';
CREATE INDEX session_without_record ON session (project_id, directory) WHERE record_id = '';
CREATE INDEX session_by_record ON session (record_id, time_created, id);
DROP INDEX session_by_project_recent;
CREATE INDEX session_by_record_recent ON session (record_id, recent, title);
